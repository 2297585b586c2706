/** The container engine of a machine: where it is, what it is, and what holds on it. */
import { readFile, statfs } from 'node:fs/promises';
import type { Clock } from '@slipway/kit/time/clock';
import { within } from '@slipway/kit/time/clock';
import type Docker from 'dockerode';

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
  /** Its containers are in a user namespace: their root is an ordinary user of this host. */
  remapsUsers: boolean;
  /** For instance `amd64`. */
  architecture: string;
  /** Limits that really hold here. */
  limits: LimitName[];
  /** Its limit of the disk is for all that a container sees, not for what it writes. */
  diskCountsImage: boolean;
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

interface InfoAnswer {
  ServerVersion: string;
  Architecture: string;
  /** Only of Podman. */
  BuildahVersion?: string;
  MemoryLimit?: boolean;
  CpuCfsQuota?: boolean;
  PidsLimit?: boolean;
  DockerRootDir?: string;
  SecurityOptions?: string[];
  Rootless?: boolean;
  /** How layers of images are kept. */
  Driver?: string;
  DriverStatus?: [string, string][];
}

/** Asks the engine at a socket what it is. NoEngineError: nothing answers there. */
export async function askEngine(socket: string, clock: Clock): Promise<Engine> {
  // Loaded where there is an engine to talk to: it takes a quarter of the processor time of an agent's start.
  const { default: Client } = await import('dockerode');
  // An empty host: else the library would look into the agent's own variables.
  const docker = new Client({ socketPath: socket, host: '', protocol: 'http' });
  try {
    const [info, architecture] = await within(clock, ANSWER_MS, new AbortController().signal, (signal) =>
      Promise.race([
        whatItIs(docker),
        new Promise<never>((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        }),
      ]),
    );
    return { docker, facts: await factsOf(socket, info, architecture) };
  } catch (error) {
    throw new NoEngineError(`the container engine at ${socket} does not answer: ${(error as Error).message}`);
  }
}

/**
 * With the name of its architecture as images have it, which Docker says in its version only. Podman is not asked for
 * that: it looks up the packages of its parts then, on Debian with half a second of processor time.
 */
async function whatItIs(docker: Docker): Promise<[InfoAnswer, string]> {
  const info = (await docker.info()) as InfoAnswer;
  return [info, info.BuildahVersion === undefined ? (await docker.version()).Arch : info.Architecture];
}

/** Bytes of the disk that images lie on, in all and free; undefined: it cannot be seen from here. */
export async function imageRoom({
  imagesFolder,
}: EngineFacts): Promise<{ totalBytes: number; freeBytes: number } | undefined> {
  try {
    const { bsize, blocks, bavail } = await statfs(imagesFolder);
    return { totalBytes: bsize * blocks, freeBytes: bsize * bavail };
  } catch {
    return undefined;
  }
}

async function factsOf(socket: string, info: InfoAnswer, architecture: string): Promise<EngineFacts> {
  const imagesFolder = info.DockerRootDir ?? '';
  const limits: [LimitName, boolean | undefined][] = [
    ['memory', info.MemoryLimit],
    ['cpus', info.CpuCfsQuota],
    ['pids', info.PidsLimit],
    ['shm', true],
    ['disk', await holdsDisk(info, imagesFolder)],
  ];
  return {
    kind: info.BuildahVersion === undefined ? 'docker' : 'podman',
    version: info.ServerVersion,
    socket,
    architecture,
    imagesFolder,
    rootless:
      info.Rootless === true || info.SecurityOptions?.some((option) => option.includes('name=rootless')) === true,
    remapsUsers: info.SecurityOptions?.some((option) => option.includes('name=userns')) === true,
    limits: limits.filter(([, holds]) => holds).map(([name]) => name),
    diskCountsImage: info.Driver === 'btrfs',
  };
}

/**
 * An overlay is bounded by XFS with project quotas alone; Docker also bounds what lies on btrfs, for which Podman takes
 * no size.
 */
async function holdsDisk({ Driver, DriverStatus = [], BuildahVersion }: InfoAnswer, folder: string): Promise<boolean> {
  if (Driver === 'btrfs') return BuildahVersion === undefined;
  if (!DriverStatus.some(([name, value]) => name === 'Backing Filesystem' && value === 'xfs')) return false;
  const mounts = (await readFile('/proc/self/mounts', 'utf8').catch(() => ''))
    .split('\n')
    .map((line) => line.split(' '));
  const longest = mounts
    .filter(([, point = '']) => point === '/' || folder === point || folder.startsWith(`${point}/`))
    .toSorted((one, other) => other[1]!.length - one[1]!.length)[0];
  return /\b(prjquota|pquota)\b/.test(longest?.[3] ?? '');
}
