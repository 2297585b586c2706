/** The container engine of a machine: its location, its properties, and the limits that it enforces. */
import { readFile, statfs } from 'node:fs/promises';
import type { Clock } from '@slipway/kit/time/clock';
import { within } from '@slipway/kit/time/clock';
import type Docker from 'dockerode';

/** A limit of a container that an engine may or may not enforce. */
export type LimitName = 'memory' | 'cpus' | 'pids' | 'shm' | 'disk';

/** Properties of an engine. */
interface EngineFacts {
  kind: 'docker' | 'podman';
  version: string;
  /** Path of its socket. */
  socket: string;
  /** It runs as an ordinary user: its containers have their own network, which this host's firewall does not see. */
  rootless: boolean;
  /** Its containers are in a user namespace: their root is an ordinary user of this host. */
  remapsUsers: boolean;
  /** For instance `amd64`. */
  architecture: string;
  /** Limits that are really enforced here. */
  limits: LimitName[];
  /** Its disk limit applies to everything that a container sees, not only to what it writes. */
  diskCountsImage: boolean;
  /** Folder of its images. */
  imagesFolder: string;
}

/** An engine that responded. */
export interface Engine {
  docker: Docker;
  facts: EngineFacts;
}

/** No engine can be used. The message gives the machine's operator the reason. */
export class NoEngineError extends Error {}

/** How long an engine may take to describe itself, in milliseconds. */
const ANSWER_MS = 5_000;

interface InfoAnswer {
  ServerVersion: string;
  Architecture: string;
  /** Set by Podman only. */
  BuildahVersion?: string;
  MemoryLimit?: boolean;
  CpuCfsQuota?: boolean;
  PidsLimit?: boolean;
  DockerRootDir?: string;
  SecurityOptions?: string[];
  Rootless?: boolean;
  /** Storage driver of image layers. */
  Driver?: string;
  DriverStatus?: [string, string][];
}

/** Returns the engine at a socket. Rejects with NoEngineError if nothing responds there. */
export async function askEngine(socket: string, clock: Clock): Promise<Engine> {
  // Loaded only where there is an engine: loading takes a quarter of the processor time of an agent's start.
  const { default: Client } = await import('dockerode');
  // With an empty host the library does not read the agent's own environment variables.
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
 * Returns the engine's description and its architecture as images name it, which Docker reports only with its version.
 * Podman is not asked for its version: it would look up the packages of its parts, which on Debian takes half a second
 * of processor time.
 */
async function whatItIs(docker: Docker): Promise<[InfoAnswer, string]> {
  const info = (await docker.info()) as InfoAnswer;
  return [info, info.BuildahVersion === undefined ? (await docker.version()).Arch : info.Architecture];
}

/** Returns the total and free bytes of the disk that holds images; `undefined` if it cannot be seen from here. */
export async function imageSpace({
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
 * Returns whether disk limits are enforced. An overlay is limited only on XFS with project quotas. Docker also limits
 * btrfs, for which Podman accepts no size.
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
