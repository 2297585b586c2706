/** An endpoint with one worker that a test plays by hand on a real agent's bridge. */
import type { Test } from 'tap';
import type { EndpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import type { RawWorker } from '../helpers/system/raw-worker.ts';
import { rawWorkers } from '../helpers/system/raw-worker.ts';
import type { EndpointOptions, System } from '../helpers/system/system.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

/** An endpoint whose one worker is spoken for by the test. */
export interface BridgeSetting {
  jobs: EndpointJobs;
  worker: RawWorker;
  /** Waits for the worker after it. */
  next(): Promise<RawWorker>;
}

/** Creates the setting. Resolves when its worker has pinged. `sdk`: the SDK version that the worker claims. */
export async function openSetting(
  t: Test,
  system: System,
  options: Partial<EndpointOptions>,
  sdk = '1.12.0',
): Promise<BridgeSetting> {
  const workers = await rawWorkers(t);
  const id = await system.createEndpoint({
    command: jsHandler('raw-worker.js'),
    env: workers.env,
    ready: 0,
    workersMax: 1,
    ...options,
  });
  const worker = await workers.next(sdk);
  t.equal(await worker.ping(), 200);
  return { jobs: endpointJobs(system, id), worker, next: () => workers.next(sdk) };
}

/** Waits until core knows the open take: a job that is submitted then goes to it. */
export const parked = (jobs: EndpointJobs): Promise<unknown> =>
  waitFor('the take to be known', async () => (await jobs.health()).workers.ready === 1);
