/** Waits until an endpoint's worker can take a job, and reports why if it does not come up. */

import type { CoreServices } from '@slipway/facades/core-client/core-services';
import { getText } from '@slipway/kit/net/node-http';
import type { Clock } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import type { EndedWorkers, Worker } from '@slipway/proto/gen/slipway/v1/machine';
import { allPages } from '@slipway/proto/wire/pages';
import { by } from './call-by.ts';

const POLL_MS = 50;
/** Polls between two checks of the workers for crashes. */
const CRASH_POLLS = 10;

/** Settings of the wait. */
interface ReadinessOptions {
  url: string;
  apiKey: string;
  endpointId: string;
  /** True for a load-balancing endpoint, whose running workers may not answer yet. */
  lb: boolean;
  core: CoreServices;
  clock: Clock;
  signal: AbortSignal;
  /** Called at intervals with current and ended workers, so that crashes can be reported. */
  onWorkers(workers: readonly Worker[], ended: readonly EndedWorkers[]): void;
}

/**
 * Resolves when a worker is ready according to the public health route, which goes through every process. A slow start
 * never makes it reject.
 */
export async function waitForWorker(options: ReadinessOptions): Promise<void> {
  for (let poll = 1; !options.signal.aborted; poll += 1) {
    if ((await readyWorkers(options)) > 0) return;
    if (poll % CRASH_POLLS === 0) await showWorkers(options);
    await delay(options.clock, POLL_MS, options.signal);
  }
}

async function readyWorkers({ url, apiKey, endpointId, lb, signal }: ReadinessOptions): Promise<number> {
  try {
    const { status, text } = await getText(
      `${url}/v2/${endpointId}/health`,
      { authorization: `Bearer ${apiKey}` },
      signal,
    );
    if (status !== 200) return 0;
    const { workers } = JSON.parse(text) as { workers?: { ready?: number; running?: number } };
    return (workers?.ready ?? 0) + (lb ? 0 : (workers?.running ?? 0));
  } catch {
    // A process is restarting. The next poll checks again.
    return 0;
  }
}

async function showWorkers({ core, apiKey, endpointId, onWorkers }: ReadinessOptions): Promise<void> {
  try {
    const ended: EndedWorkers[] = [];
    const workers = await allPages(
      (page) => core.machines.call((client) => client.listWorkers, { endpointId, ...page }, by(apiKey)),
      (response) => {
        ended.push(...response.ended);
        return response.workers;
      },
    );
    onWorkers(workers, ended);
  } catch {
    return;
  }
}
