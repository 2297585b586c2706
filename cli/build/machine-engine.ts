/** The container engine of a machine of this installation, by the name of the machine. For the operator. */
import { hostname } from 'node:os';
import { delay } from '@slipway/kit/time/clock';
import type { GetMachineResponse } from '@slipway/proto/gen/slipway/v1/machine_service';
import type { Cli } from '../cli.ts';
import { RejectedError } from '../failures.ts';
import { retryWhileAway } from '../retry-while-away.ts';

/** Addresses of the engines of a machine, by the name of the engine. Its SSH decides who may use them. */
const ADDRESSES: Readonly<Record<string, (host: string) => string>> = {
  podman: (host) => `ssh://root@${host}/run/podman/podman.sock`,
  docker: (host) => `ssh://root@${host}`,
};
/** Pause between two looks at a machine, in milliseconds. */
const POLL_MS = 500;
/** Longest wait until a machine reports an image, in milliseconds. Agents look every ten seconds. */
const REPORT_MS_MAX = 30_000;

/** The machine that builds. */
interface BuildMachine {
  id: string;
  name: string;
  /** Address of its engine. `undefined`: it is this machine. */
  address: string | undefined;
  /** The only program that reaches its engine for sure. `undefined`: any. */
  program: 'docker' | undefined;
}

/** Returns whether a text is the name or the id of a machine, and no address. */
export function isMachineName(on: string): boolean {
  return !on.includes('/') && !on.includes(':');
}

/** Finds a machine by name or id. Throws RejectedError if there is none, or no engine of it can build now. */
export async function findBuildMachine(cli: Cli, named: string): Promise<BuildMachine> {
  const { machine, connected } = (await readMachine(cli, named)).status!;
  const { id, name, containerEngine, noEngineReason } = machine!;
  const addressOf = ADDRESSES[containerEngine?.name ?? ''];
  if (!addressOf) {
    const why = containerEngine ? `runs images with ${containerEngine.name}` : 'has no container engine';
    const more = noEngineReason === '' ? '' : ` (${noEngineReason})`;
    throw new RejectedError(
      `The machine ${name} ${why}${more}, which builds none. Build on another machine, or here with --push.`,
    );
  }
  if (!connected)
    throw new RejectedError(`The agent of the machine ${name} is not connected: its workers could not start there.`);
  // Podman would build in a Podman that is there too, and its images are not Docker's. Docker's program knows no other.
  const program = containerEngine?.name === 'docker' ? 'docker' : undefined;
  return { id, name, address: name === hostname() ? undefined : addressOf(name), program };
}

/**
 * Waits until a machine reports an image, so that workers are placed where it is from the first one on. Returns false
 * if it does not within half a minute, or if it has more images than core shows of one machine.
 */
export async function untilReported(cli: Cli, { id, name }: BuildMachine, image: string): Promise<boolean> {
  const { clock, output, stopping } = cli;
  const untilMs = clock.monotonicMs() + REPORT_MS_MAX;
  while (clock.monotonicMs() < untilMs) {
    stopping.throwIfAborted();
    const { images, imageCount } = await readMachine(cli, id);
    if (images.some((known) => known.name === image)) return true;
    if (imageCount > images.length) return false;
    output.progress(`Waiting until ${name} reports the image.`);
    await delay(clock, POLL_MS, stopping);
  }
  return false;
}

function readMachine(cli: Cli, id: string): Promise<GetMachineResponse> {
  return retryWhileAway(cli, () => cli.operator.machines.call((client) => client.getMachine, { id }));
}
