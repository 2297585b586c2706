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
  /** Part of it until the job started on a worker, as its status says. */
  startMs: number;
  /** Part of it in which GPU memory was moved: of the worker that left the card, and of its own. 0: none was. */
  movesMs: number;
  problem?: string;
}

/**
 * Creates the endpoints. `command` or `imageName` runs the worker, with `env`. Without `gpuId`: on a GPU of any type.
 * `gpuCount`: GPUs of a worker.
 */
export async function createSharers(
  slipway: Processes,
  count: number,
  {
    command = [],
    imageName = '',
    env,
    gpuId,
    gpuCount = 1,
  }: { command?: string[]; imageName?: string; env: Record<string, string>; gpuId?: string; gpuCount?: number },
) {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const gpuIds = gpuId === undefined ? [] : [gpuId];
    const flashBootType = FlashBootType.FLASHBOOT;
    const fields = { workersMin: 0, idleTimeoutSeconds: 1, gpuIds, gpuCount, flashBootType };
    ids.push(await slipway.createEndpoint({ command, imageName, env, fields, workersMax: 1, ready: 0 }));
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
    // A call to the endpoint that has the card finds its worker on standby there.
    if (endpoint === made.at(-1)?.endpoint)
      await waitFor('standby', async () => (await levelOf(slipway, id)) === 'GPU');
    const expected = await levelOf(slipway, id);
    const fromMs = performance.now();
    const { status, output, delayTime } = await jobs.settled(await jobs.run({ number }), PATIENCE_MS);
    const ms = performance.now() - fromMs;
    if (status !== 'COMPLETED') throw new Error(`call ${number} is ${status}`);
    const served = output as unknown as Served;
    const before = known.get(endpoint);
    known.set(endpoint, before ?? served);
    const way = before?.pid === served.pid ? expected : 'cold';
    const left = made.at(-1)?.endpoint;
    const movesMs = way === 'HOST' ? await movesOf(slipway, id, left === undefined ? '' : sharers[left]!.id) : 0;
    made.push({ endpoint, way, ms, startMs: delayTime!, movesMs, ...problemOf(number, served, before) });
  }
  return made;
}

/** Returns how long the worker of one endpoint took to leave, and that of the other to come back, in milliseconds. */
async function movesOf({ sql }: Processes, backId: string, leftId: string): Promise<number> {
  const [{ ms } = { ms: 0 }] = await sql<{ ms: number }[]>`
    SELECT coalesce(sum(CASE endpoint_id WHEN ${backId} THEN restore_ms ELSE offload_ms END), 0)::int AS ms
    FROM worker WHERE endpoint_id IN (${backId}, ${leftId}) AND ended_at IS NULL`;
  return ms;
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

/**
 * Returns a table: for each way, how many calls there were, the p50 and p95 of their durations, the p50 without the
 * moves of GPU memory, and the p50 until the job started.
 */
export function tableOf(calls: readonly CardCall[]): string {
  const rows = WAYS.map((way) => {
    const those = calls.filter((each) => each.way === way);
    const times = those.map(({ ms }) => ms);
    const without = those.map(({ ms, movesMs }) => ms - movesMs);
    const starts = those.map(({ startMs }) => startMs);
    const seconds = [secondsAt(times, 0.5), secondsAt(times, 0.95), secondsAt(without, 0.5), secondsAt(starts, 0.5)];
    const cells = [way, those.length, ...seconds];
    return `| ${cells.join(' | ')} |`;
  });
  return [
    '| Served by | Calls | p50 | p95 | p50 without moves | p50 until it starts |',
    '|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}

function secondsAt(times: readonly number[], share: number): string {
  if (times.length === 0) return '';
  const sorted = times.toSorted((a, b) => a - b);
  return `${(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]! / 1_000).toFixed(3)} s`;
}
