/**
 * `slipway endpoints restart`: replaces the workers of an endpoint. With `--wait` it returns when the previous workers
 * are gone.
 */
import { delay } from '@slipway/kit/time/clock';
import type { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { Worker } from '@slipway/proto/gen/slipway/v1/machine';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { Cli } from '../cli.ts';
import { RejectedError } from '../failures.ts';
import { count } from '../output/words.ts';
import { retryWhileAway } from '../retry-while-away.ts';
import { endpointIdOf } from '../shared/find-endpoint.ts';
import { endpointFields, presentEndpoint } from './present-endpoint.ts';

/** Interval between two polls, in milliseconds. */
const POLL_MS = 500;

/**
 * Restarts an endpoint. With `wait` it returns when all workers are new and workersMin of them are ready. Throws
 * RejectedError when a new one crashes or the release is held.
 */
export async function restartEndpoint(
  cli: Cli,
  named: string | undefined,
  { wait = false, now: atOnce = false }: { wait?: boolean; now?: boolean },
): Promise<void> {
  const id = await endpointIdOf(cli, named);
  const { endpoint } = await cli.core.endpoints.call((client) => client.restartEndpoint, { id, atOnce });
  if (wait) await untilAllNew(cli, endpoint!);
  const { output } = cli;
  output.result(presentEndpoint(endpoint!), () => output.fields(endpointFields(endpoint!, output.nowMs())));
}

/**
 * Waits until the workers before this version are gone and workersMin of this version are ready. Throws RejectedError
 * when a new one crashes or the release is held.
 */
export async function untilAllNew(
  cli: Cli,
  { id: endpointId, version, workersMin, workersMax }: Endpoint,
): Promise<void> {
  const wanted = Math.min(workersMin, workersMax);
  for (;;) {
    const { workers } = await retryWhileAway(cli, () =>
      cli.core.machines.call((client) => client.listWorkers, { endpointId }),
    );
    const fresh = workers.filter((worker) => worker.version >= version);
    await notHeld(cli, endpointId);
    const crashed = fresh.find(({ state }) => state === WorkerState.UNHEALTHY);
    if (crashed)
      throw new RejectedError(
        `The new worker ${crashed.id} does not come up; the last line of its log says: ${lastLine(crashed)}`,
      );
    const ready = fresh.filter(({ state }) => state === WorkerState.READY).length;
    const old = workers.filter((worker) => worker.version < version);
    if (old.length === 0 && ready >= wanted) return;
    const busy = old.filter(({ held }) => held > 0).length;
    cli.output.progress(
      `Waiting: ${count(ready, 'new worker')} of ${wanted} ready; ${count(old.length, 'old one')} left, ` +
        `${busy} with jobs.`,
    );
    await delay(cli.clock, POLL_MS, cli.stopping);
  }
}

/** Throws RejectedError if the new version is held: its rollout does not continue by itself. */
async function notHeld(cli: Cli, id: string): Promise<void> {
  const { endpoint } = await retryWhileAway(cli, () => cli.core.endpoints.call((client) => client.getEndpoint, { id }));
  if (endpoint?.rolloutState === 'HELD') throw new RejectedError(`The release is held: ${endpoint.rolloutReason}`);
}

function lastLine({ reason }: Worker): string {
  return reason.trimEnd().split('\n').at(-1) ?? '';
}
