/** The container engine of a machine: where it is, what it is, and what holds on it. */
import { readFile, statfs } from 'node:fs/promises';
import Docker from 'dockerode';
import type { Clock } from '../../../core/runtime/clock.ts';
import { within } from '../../../core/runtime/clock.ts';

/** A limit of a container that an engine may hold or not. */
export type LimitName = 'memory' | 'cpus' | 'pids' | 'shm' | 'disk';

/** What an engine says of itself. */
export interface EngineFacts {
  kind: 'docker' | 'podman';
  version: string;
  /** Path of its socket. */
  socket: string;
  /** It runs as an ordinary user: its containers have a network of their own that this host's firewall does not see. */
  rootless: boolean;
  /** For instance `amd64`. */
  architecture: string;
  /** Limits that really hold here. */
  limits: LimitName[];
  /** Where it keeps images. */
  imagesFolder: string;
}

/** An engine that answered. */
export interface Engine {
  docker: Docker;
  facts: EngineFacts;
}

/** No engine can be used; the message is for the machine's operator and says why. */
export class NoEngineError extends Error {}

/** How long an engine may take to say what it is, in milliseconds. */
const ANSWER_MS = 5_000;

interface VersionAnswer {
  Version: string;
  Arch: string;
  Components?: { Name: string }[];
}

interface InfoAnswer {
  MemoryLimit?: boolean;
  CpuCfsQuota?: boolean;
  PidsLimit?: boolean;
  DockerRootDir?: string;
  SecurityOptions?: string[];
  Rootless?: boolean;
  DriverStatus?: [string, string][];
}

/** Asks the engine at a socket what it is. NoEngineError: nothing answers there. */
export async function askEngine(socket: string, clock: Clock): Promise<Engine> {
  // An empty host: else the library would look into the agent's own variables.
  const docker = new Docker({ socketPath: socket, host: '', protocol: 'http' });
  try {
    const [version, info] = await within(clock, ANSWER_MS, new AbortController().signal, (signal) => Promise.race([
      Promise.all([docker.version() as unknown as Promise<VersionAnswer>, docker.info() as Promise<InfoAnswer>]),
      new Promise<never>((_, reject) => { signal.addEventListener('abort', () => reject(signal.reason as Error)); }),
    ]));
    return { docker, facts: await factsOf(socket, version, info) };
  } catch (error) {
    throw new NoEngineError(`the container engine at ${socket} does not answer: ${(error as Error).message}`);
  }
}

/** Bytes of the disk that images lie on, in all and free; undefined: it cannot be seen from here. */
export async function imageRoom({ imagesFolder }: EngineFacts): Promise<{ totalBytes: number; freeBytes: number } | undefined> {
  try {
    const { bsize, blocks, bavail } = await statfs(imagesFolder);
    return { totalBytes: bsize * blocks, freeBytes: bsize * bavail };
  } catch {
    return undefined;
  }
}

async function factsOf(socket: string, version: VersionAnswer, info: InfoAnswer): Promise<EngineFacts> {
  const kind = version.Components?.some(({ Name }) => Name === 'Podman Engine') ? 'podman' : 'docker';
  const imagesFolder = info.DockerRootDir ?? '';
  const limits: [LimitName, boolean | undefined][] = [
    ['memory', info.MemoryLimit], ['cpus', info.CpuCfsQuota], ['pids', info.PidsLimit], ['shm', true],
    ['disk', await holdsDisk(info.DriverStatus ?? [], imagesFolder)],
  ];
  return {
    kind, version: version.Version, socket, architecture: version.Arch, imagesFolder,
    rootless: info.Rootless === true || info.SecurityOptions?.some((option) => option.includes('name=rootless')) === true,
    limits: limits.filter(([, holds]) => holds).map(([name]) => name),
  };
}

/** Only XFS with project quotas bounds what an overlay takes. */
async function holdsDisk(driverStatus: [string, string][], folder: string): Promise<boolean> {
  if (!driverStatus.some(([name, value]) => name === 'Backing Filesystem' && value === 'xfs')) return false;
  const mounts = (await readFile('/proc/self/mounts', 'utf8').catch(() => '')).split('\n').map((line) => line.split(' '));
  const longest = mounts
    .filter(([, point = '']) => point === '/' || folder === point || folder.startsWith(`${point}/`))
    .toSorted((one, other) => other[1]!.length - one[1]!.length)[0];
  return /\b(prjquota|pquota)\b/.test(longest?.[3] ?? '');
}
