/** Calls to an engine that differ between Docker and Podman, or that the library has no method for. */
import { pipeline } from 'node:stream/promises';
import type Docker from 'dockerode';
import { statusOf } from '../../images/image-store.ts';
import type { ContainerPlan } from './container-plan.ts';
import { containerName, dockerBody, LOG_BYTES_MAX, podmanBody } from './container-plan.ts';
import type { Engine } from './engine.ts';
import { OutputFrames } from './output-frames.ts';

/**
 * Podman's own API, for what its Docker-compatible API does not support. Every Podman since 4.0 accepts this version.
 */
const LIBPOD = '/v4.0.0/libpod';
const ANSWERS = {
  200: true,
  201: true,
  204: true,
  304: true,
  400: 'bad request',
  404: 'not found',
  409: 'conflict',
  500: 'server error',
};

/** Creates a container without starting it. Rejects with the engine's message. */
export async function createContainer({ docker, facts }: Engine, plan: ContainerPlan): Promise<Docker.Container> {
  if (facts.kind === 'podman') {
    const { Id } = (await libpod(docker, 'POST', '/containers/create', podmanBody(plan))) as { Id: string };
    return docker.getContainer(Id);
  }
  return docker.createContainer({ ...dockerBody(plan), name: containerName(plan.machineId, plan.launch.workloadId) });
}

/** Kills the container if it runs, and removes it. */
export async function removeContainer(container: Docker.Container): Promise<void> {
  try {
    // Without this the engine first asks it to stop, and waits.
    await container.kill({ signal: 'SIGKILL' }).catch(() => undefined);
    await container.remove({ force: true, v: true });
  } catch (error) {
    if (statusOf(error) !== 404) throw error;
  }
}

/** Makes one call to Podman's own API. */
export function libpod(
  docker: Docker,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: object,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    docker.modem.dial(
      { path: `${LIBPOD}${path}`, method, ...(body && { options: body }), statusCodes: ANSWERS } as Parameters<
        Docker['modem']['dial']
      >[0],
      (error, answer) => {
        if (error) reject(error as Error);
        else resolve(answer);
      },
    );
  });
}

/** Returns the engine's message of a failed call, without the text that the library adds. */
export function engineWords(error: unknown): string {
  const { json, message } = error as { json?: { message?: string }; message?: string };
  const words = json?.message ?? message ?? String(error);
  const program = /exec: ("[^"]*": (?:stat [^:]*: )?[^:]*)/.exec(words)?.[1];
  return program
    ? `its program ${program.replace(/: stat [^:]*:/, ':')}`
    : words.replace(/^\(HTTP code \d+\) [^-]*- /, '').trim();
}

/**
 * Most bytes of a log in memory. The log of a container that an earlier agent made may have any size; the last bytes
 * count.
 */
const LOG_READ_BYTES_MAX = 2 * LOG_BYTES_MAX;

/** Returns a container's output from the engine's log; only its last part if the log is large. */
export async function readLog(container: Docker.Container): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  const frames = new OutputFrames((bytes) => {
    // A copy: a small part would otherwise keep the whole received buffer in memory.
    parts.push(Buffer.from(bytes));
    size += bytes.length;
    while (size - parts[0]!.length > LOG_READ_BYTES_MAX) size -= parts.shift()!.length;
  });
  await pipeline(await openLog(container), frames);
  return Buffer.concat(parts);
}

/** Opens the log as a stream. The library's `logs` would hold all of it in memory. */
function openLog({ id, modem }: Docker.Container): Promise<NodeJS.ReadableStream> {
  const path = `/containers/${id}/logs?stdout=1&stderr=1`;
  const options = { path, method: 'GET', isStream: true, statusCodes: ANSWERS } as Parameters<
    Docker['modem']['dial']
  >[0];
  return new Promise((resolve, reject) => {
    (modem as Docker['modem']).dial(options, (error, stream) => {
      if (error) reject(error as Error);
      else resolve(stream as NodeJS.ReadableStream);
    });
  });
}
