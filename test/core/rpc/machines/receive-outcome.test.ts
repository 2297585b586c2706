// test: postgres
/** Uploads of large outcomes: one that stalls ends, and a machine leaves budget to the others. */
import { PassThrough } from 'node:stream';
import { SlotPool } from '@slipway/core/dispatch/slot-pool';
import type { MachineAttempt } from '@slipway/core/domain/jobs/job';
import { LiveJobs } from '@slipway/core/jobs/live-jobs';
import { receiveOutcome } from '@slipway/core/rpc/machines/receive-outcome';
import { OutcomeBudget } from '@slipway/core/rpc/server/outcome-budget';
import { OutcomeKind, ReportOutcomeRequest } from '@slipway/proto/gen/slipway/v1/agent_service';
import { OUTPUT_BYTES_MAX } from '@slipway/proto/wire/limits';
import t from 'tap';
import { LIVE_MACHINES, refused, runningJob, startEngines } from '../../../helpers/system/job-engine.ts';
import { ManualClock } from '../../../helpers/time/manual-clock.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

const engines = await startEngines(t);
const {
  engine: { attempts, calls },
} = engines;
const endpointId = await engines.endpoint();
const clock = new ManualClock();
const live = new LiveJobs();
const pool = new SlotPool(live, { onCapacity: () => undefined, onOrphans: () => undefined });
const budget = new OutcomeBudget({ bytesMax: 100, machineBytesMax: 60 });
const context = { attempts, pool, live, table: { get: () => undefined }, clock, budget };

/** Starts an upload and sends its first piece. The test decides how it continues. */
function upload(
  job: MachineAttempt,
  piece: Buffer,
  { given = context, size }: { given?: typeof context; size?: number } = {},
) {
  const { jobId, attempt, machineId } = job;
  const stream = new PassThrough({ objectMode: true });
  const done = receiveOutcome(stream as unknown as Parameters<typeof receiveOutcome>[0], machineId, given);
  // Some are awaited only later.
  done.catch(() => undefined);
  const ref = { endpointId, jobId, attempt, workerId: 'worker00000001' };
  stream.write(ReportOutcomeRequest.fromPartial({ outcome: { ref, kind: OutcomeKind.COMPLETED }, piece, size }));
  const send = (more: Buffer): void => {
    stream.write(ReportOutcomeRequest.fromPartial({ piece: more }));
  };
  return { send, done, end: () => stream.end() };
}

/** Returns whether a machine has so many bytes left, in this budget or another one. */
function hasLeft(machineId: string, bytes: number, of = budget): boolean {
  const has = of.reserve(machineId, bytes);
  if (has) of.release(machineId, bytes);
  return has;
}

const text = (bytes: number): Buffer => Buffer.from(`"${'x'.repeat(bytes - 2)}"`);

t.test('a stalled transfer ends, frees its budget, and may be sent again', async (t) => {
  const job = await runningJob(engines, endpointId);
  const whole = text(50);
  const stalled = upload(job, whole.subarray(0, 40));
  await waitFor('its beginning', () => live.size === 1);
  clock.pass(59_000);
  stalled.send(whole.subarray(40, 45));
  await waitFor('budget to be short', () => !hasLeft(job.machineId, 16));
  clock.pass(59_000);
  t.equal(live.size, 1, 'counted from the last piece');
  clock.pass(1_000);
  await refused(t, stalled.done, 'UNAVAILABLE');
  t.equal(live.size, 0);
  t.ok(hasLeft(job.machineId, 60));
  const again = upload(job, whole);
  again.end();
  await again.done;
  t.match(await calls.get(job, { omitOutput: false, ttlMs: 0 }), { state: 'COMPLETED', output: whole });
});

t.test('a truncated transfer is aborted, and sent again', async (t) => {
  const job = await runningJob(engines, endpointId);
  const whole = text(50);
  const broken = upload(job, whole.subarray(0, 40), { size: whole.length });
  await waitFor('its beginning', () => live.size === 1);
  broken.end();
  await refused(t, broken.done, 'UNAVAILABLE');
  const longer = upload(job, whole, { size: 49 });
  longer.end();
  await refused(t, longer.done, 'INVALID_REQUEST');
  t.equal(live.size, 0);
  t.ok(hasLeft(job.machineId, 60), 'its budget is free');
  t.equal((await calls.get(job, { omitOutput: true, ttlMs: 0 })).state, 'IN_PROGRESS');
  const again = upload(job, whole.subarray(0, 40), { size: whole.length });
  again.send(whole.subarray(40));
  again.end();
  await again.done;
  t.match(await calls.get(job, { omitOutput: false, ttlMs: 0 }), { state: 'COMPLETED', output: whole });
});

t.test('one machine that sends much is refused, another is not', async (t) => {
  const [first, second] = [await runningJob(engines, endpointId), await runningJob(engines, endpointId)];
  const other = await runningJob(engines, endpointId, {}, LIVE_MACHINES[1]);
  const open = upload(first, text(40));
  await waitFor('its beginning', () => live.size === 1);
  await refused(t, upload(second, text(40)).done, 'RATE_LIMITED');
  const others = upload(other, text(50));
  others.end();
  await others.done;
  open.end();
  await open.done;
  const now = upload(second, text(60));
  now.end();
  await now.done;
  for (const job of [first, second, other])
    t.equal((await calls.get(job, { omitOutput: true, ttlMs: 0 })).state, 'COMPLETED');
});

t.test('an oversized transfer takes no budget', async (t) => {
  const job = await runningJob(engines, endpointId);
  const ample = new OutcomeBudget({ bytesMax: OUTPUT_BYTES_MAX, machineBytesMax: OUTPUT_BYTES_MAX });
  const half = Buffer.alloc(OUTPUT_BYTES_MAX / 2, 'x');
  const sent = upload(job, half, { given: { ...context, budget: ample } });
  for (let more = 0; more < 4; more += 1) sent.send(half);
  await waitFor('it to be dropped', () => hasLeft('another', OUTPUT_BYTES_MAX, ample));
  sent.end();
  await sent.done;
  t.match(await calls.get(job, { omitOutput: false, ttlMs: 0 }), {
    state: 'FAILED',
    error: /the output has 52428800 bytes/,
  });
});
