/**
 * Several FlashBoot endpoints share the cards of one machine: random calls, one after the other. Returns how each call
 * was served and how long it took, from the request to the result.
 */
import { FlashBootType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { StandbyLevel, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { call } from '../helpers/grpc/grpc-clients.ts';
import type { EndpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import type { Processes } from '../helpers/system/processes.ts';
import type { SeededRandom } from '../helpers/time/seeded-random.ts';
import { PATIENCE_MS, waitFor } from '../helpers/time/wait-for.ts';

/** How a call was served: by a new worker, by one that ran, or by one on standby. */
const WAYS = ['cold', 'warm', 'GPU', 'HOST'] as const;
type Way = (typeof WAYS)[number];

/** Output of a worker: its process, and a checksum of what its GPU memory holds. */
interface Served {
  number: number;
  pid: number;
  digest: string;
}

/** One call. `problem`: what is wrong with its result. */
interface CardCall {
  endpoint: number;
  way: Way;
  ms: number;
  problem?: string;
}

/**
 * Creates the endpoints. `command` runs the worker, with `env`. Without `gpuId`: on a GPU of any type. `gpuCount`: GPUs
 * of a worker.
 */
export async function createSharers(
  slipway: Processes,
  count: number,
  {
    command,
    env,
    gpuId,
    gpuCount = 1,
  }: { command: string[]; env: Record<string, string>; gpuId?: string; gpuCount?: number },
) {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const gpuIds = gpuId === undefined ? [] : [gpuId];
    const flashBootType = FlashBootType.FLASHBOOT;
    const fields = { workersMin: 0, idleTimeoutSeconds: 1, gpuIds, gpuCount, flashBootType };
    ids.push(await slipway.createEndpoint({ command, env, fields, workersMax: 1, ready: 0 }));
  }
  return ids.map((id) => ({ id, jobs: endpointJobs(slipway, id) }));
}

/** Makes the calls: one to each endpoint first, then random ones, until there are enough or the time is over. */
export async function shareCard(
  slipway: Processes,
  sharers: readonly { id: string; jobs: EndpointJobs }[],
  { calls, untilMs, random }: { calls: number; untilMs: number; random: SeededRandom },
): Promise<CardCall[]> {
  const known = new Map<number, Served>();
  const made: CardCall[] = [];
  for (let number = 0; number < calls && performance.now() < untilMs; number += 1) {
    const endpoint = number < sharers.length ? number : random.below(sharers.length);
    const { id, jobs } = sharers[endpoint]!;
    const expected = await levelOf(slipway, id);
    const fromMs = performance.now();
    const job = await jobs.look(await finished(jobs, { number }));
    const ms = performance.now() - fromMs;
    const served = job.output as unknown as Served;
    const before = known.get(endpoint);
    known.set(endpoint, before ?? served);
    const way = before?.pid === served.pid ? expected : 'cold';
    made.push({ endpoint, way, ms, ...problemOf(number, served, before) });
  }
  return made;
}

async function finished(jobs: EndpointJobs, input: object): Promise<string> {
  const id = await jobs.run(input);
  await jobs.reached(id, 'COMPLETED', PATIENCE_MS);
  return id;
}

function problemOf(number: number, served: Served, before: Served | undefined): { problem?: string } {
  if (served.number !== number) return { problem: `call ${number} got the output of call ${served.number}` };
  if (before && before.pid !== served.pid) return { problem: `call ${number} met a new worker` };
  return before && before.digest !== served.digest
    ? { problem: `call ${number}: ${before.digest} became ${served.digest}` }
    : {};
}

/** Returns how the endpoint's worker would serve a call now. */
async function levelOf(slipway: Processes, endpointId: string): Promise<Way> {
  return waitFor('its worker to be somewhere', async () => {
    const { workers } = await call(slipway.clients.machines, 'listWorkers', { endpointId }, slipway.key);
    const [worker] = workers.filter(({ state }) => state === WorkerState.FROZEN || state === WorkerState.READY);
    if (!worker) return 'cold';
    if (worker.state === WorkerState.READY) return 'warm';
    return worker.standbyLevel === StandbyLevel.HOST ? 'HOST' : 'GPU';
  });
}

/** Returns a table: for each way, how many calls there were, and the p50 and p95 of their durations. */
export function tableOf(calls: readonly CardCall[]): string {
  const rows = WAYS.map((way) => {
    const times = calls
      .filter((each) => each.way === way)
      .map(({ ms }) => ms)
      .sort((a, b) => a - b);
    const at = (share: number): string =>
      times.length === 0
        ? ''
        : `${(times[Math.min(times.length - 1, Math.floor(times.length * share))]! / 1_000).toFixed(2)} s`;
    return `| ${way} | ${times.length} | ${at(0.5)} | ${at(0.95)} |`;
  });
  return ['| Served by | Calls | p50 | p95 |', '|---|---|---|---|', ...rows].join('\n');
}
