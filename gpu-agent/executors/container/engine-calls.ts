/** The calls to an engine that differ between Docker and Podman, or that the library has no name for. */
import { Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type Docker from 'dockerode';
import { statusOf } from '../../images/image-store.ts';
import { containerName, dockerBody, podmanBody } from './container-plan.ts';
import type { ContainerPlan } from './container-plan.ts';
import type { Engine } from './engine.ts';

/** Podman's own interface: what its Docker-like one cannot say. Every Podman since 4.0 answers to this version. */
const LIBPOD = '/v4.0.0/libpod';
const ANSWERS = { 200: true, 201: true, 204: true, 304: true, 400: 'bad request', 404: 'not found', 409: 'conflict', 500: 'server error' };

/** Makes a container; it is not started. Rejects with the engine's words. */
export async function createContainer({ docker, facts }: Engine, plan: ContainerPlan): Promise<Docker.Container> {
  if (facts.kind === 'podman') {
    const { Id } = await libpod(docker, 'POST', '/containers/create', podmanBody(plan)) as { Id: string };
    return docker.getContainer(Id);
  }
  return docker.createContainer({ ...dockerBody(plan), name: containerName(plan.machineId, plan.launch.unitId) });
}

/** Ends it when it runs, and removes it. */
export async function removeContainer(container: Docker.Container): Promise<void> {
  try {
    // Else an engine asks politely first, and waits.
    await container.kill({ signal: 'SIGKILL' }).catch(() => undefined);
    await container.remove({ force: true, v: true });
  } catch (error) {
    if (statusOf(error) !== 404) throw error;
  }
}

/** One call of Podman's own interface. */
export function libpod(docker: Docker, method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Promise<unknown> {
  return new Promise((resolve, reject) => {
    docker.modem.dial({ path: `${LIBPOD}${path}`, method, ...(body && { options: body }), statusCodes: ANSWERS } as Parameters<Docker['modem']['dial']>[0],
      (error, answer) => { if (error) reject(error as Error); else resolve(answer); });
  });
}

/** What an engine said of a failed call, without the frame that the library puts round it. */
export function engineWords(error: unknown): string {
  const { json, message } = error as { json?: { message?: string }; message?: string };
  const words = json?.message ?? message ?? String(error);
  const program = /exec: ("[^"]*": (?:stat [^:]*: )?[^:]*)/.exec(words)?.[1];
  return program ? `its program ${program.replace(/: stat [^:]*:/, ':')}` : words.replace(/^\(HTTP code \d+\) [^-]*- /, '').trim();
}

/** What the engine's log has of a container's output. Podman's way to have it before the stream counts its bytes wrong. */
export async function readLog(container: Docker.Container): Promise<Buffer> {
  const parts: Buffer[] = [];
  const sink = new Writable({ write: (bytes: Buffer, _encoding, done) => { parts.push(bytes); done(); } });
  const stream = Readable.from([await container.logs({ follow: false, stdout: true, stderr: true })]);
  container.modem.demuxStream(stream, sink, sink);
  await finished(stream);
  return Buffer.concat(parts);
}
