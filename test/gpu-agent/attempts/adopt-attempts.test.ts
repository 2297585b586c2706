/**
 * State that an agent leaves to its successor, and how the successor adopts it: attempts in order, chunks with their
 * numbers, and records that may be missing.
 */

import { adopt, dropAllAttempts } from '@slipway/gpu-agent/attempts/adopt-attempts';
import { Attempt } from '@slipway/gpu-agent/attempts/attempt';
import { RunRecorder } from '@slipway/gpu-agent/attempts/run-recorder';
import type { LastRun } from '@slipway/gpu-agent/spool/run-log';
import { RunLog } from '@slipway/gpu-agent/spool/run-log';
import type { Worker } from '@slipway/gpu-agent/workloads/workers/worker';
import { machineDisk } from '@slipway/kit/host/disk';
import { createLogger } from '@slipway/kit/log/logger';
import { WorkerSpec } from '@slipway/proto/gen/slipway/v1/agent_service';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { Test } from 'tap';
import t from 'tap';
import { wired } from './wired.ts';

const ref = { endpointId: 'e1', jobId: 'job', attempt: 1, workerId: 'w1' };
const run = { bridge: 'http://10.0.0.1:1', isPatient: true, aliveMs: 0, leaseFromMs: 0, leaseMs: 10_000 };

/** Returns a worker in a container, as the attempts see it. */
function container(sendsAgain = false): Worker {
  const sdk = { version: sendsAgain ? 'slipway-0.1.0' : '1.12.0', traits: { sendsAgain } };
  const spec = WorkerSpec.fromPartial({
    imageName: 'image',
    gpuUuids: ['gpu'],
    concurrency: 2,
    version: 3,
    env: { SECRET: 'no' },
  });
  return {
    id: 'w1',
    endpointId: 'e1',
    token: 'token',
    spec,
    sdk,
    asked: true,
    refresh: false,
    state: WorkerState.READY,
    outlives: true,
    isRunning: true,
  } as unknown as Worker;
}

/** Keeps what `live` does to an attempt, then reads it as the next run would. */
async function leave(
  t: Test,
  live: (recorder: RunRecorder, attempt: Attempt, worker: Worker) => void | Promise<void>,
  worker = container(),
): Promise<LastRun> {
  const folder = t.testdir({});
  const log = new RunLog({ folder, logger: createLogger('test', 'silent'), disk: machineDisk });
  await log.open();
  const recorder = new RunRecorder(log);
  log.run(run);
  recorder.worker(worker);
  const attempt = new Attempt({ ref, input: [Buffer.from('{}')], s3Config: undefined, nowMs: 0 });
  await recorder.handed(worker, [attempt]);
  attempt.phase = 'handed';
  await live(recorder, attempt, worker);
  await log.written();
  await log.close();
  const next = new RunLog({ folder, logger: createLogger('test', 'silent'), disk: machineDisk });
  const last = await next.open();
  await next.close();
  return last;
}

/** A value, as the bridge takes it. */
function stream(recorder: RunRecorder, attempt: Attempt, worker: Worker, text: string): void {
  recorder.begun(attempt);
  if (!recorder.value(worker, attempt, Buffer.from(text))) attempt.yielded += 1;
  attempt.chunkNumber += 1;
  recorder.chunk({ ref, number: attempt.chunkNumber, output: Buffer.from(text), metrics: undefined });
  void recorder.taken(attempt);
}

t.test('a worker and its attempt continue: unstored chunks are repeated, new ones follow', async (t) => {
  const last = await leave(t, (recorder, attempt, worker) => {
    for (const text of ['"a"', '"\u00e4"', '"c"']) {
      stream(recorder, attempt, worker, text);
      recorder.answered(attempt);
    }
    recorder.stored(attempt.key, 1);
  });
  t.notMatch(JSON.stringify([...last.workers]), /SECRET/);
  const parts = await wired(t);
  adopt(last, parts);
  const [attempt] = parts.table.all();
  t.match(attempt, { phase: 'handed', chunkNumber: 3, yielded: 3, missed: undefined, lastValue: undefined });
  t.same(
    parts.chunks.unacknowledged(attempt!.key).map(({ number, output }) => [number, String(output)]),
    [
      [2, '"\u00e4"'],
      [3, '"c"'],
    ],
  );
  t.same(parts.table.refs(), [ref], 'core is told that it is held');
  t.match(parts.pool.get('w1'), { token: 'token', asked: true });
  t.equal(parts.holdings.of('w1').of('job'), attempt);
});

t.test('ended attempts are not adopted', async (t) => {
  const last = await leave(t, (recorder, attempt) => recorder.ended(attempt));
  t.same([last.attempts, [...last.chunks]], [[], []]);
  t.equal(last.workers.size, 1);
});

t.test('a value in transit is missing, unless the SDK sends it again', async (t) => {
  const begun = (recorder: RunRecorder, attempt: Attempt): void => recorder.begun(attempt);
  const python = await wired(t);
  adopt(await leave(t, begun), python);
  t.match(python.table.all()[0]!.missed, /in flight/);
  const own = await wired(t);
  adopt(await leave(t, begun, container(true)), own);
  t.equal(own.table.all()[0]!.missed, undefined);
});

t.test('an SDK that does not wait for an absent agent may lose any value', async (t) => {
  const last = await leave(t, () => undefined);
  const parts = await wired(t);
  adopt({ ...last, run: { ...run, isPatient: false } }, parts);
  t.match(parts.table.all()[0]!.missed, /was down/);
});

t.test('a repeated value keeps its numbers', async (t) => {
  const worker = container(true);
  const last = await leave(
    t,
    (recorder, attempt) => {
      stream(recorder, attempt, worker, '"a"');
      recorder.answered(attempt);
      stream(recorder, attempt, worker, '"b"');
    },
    worker,
  );
  const parts = await wired(t);
  adopt(last, parts);
  const attempt = parts.table.all()[0]!;
  t.equal(attempt.chunkNumber, 2);
  t.equal(parts.recorder.value(worker, attempt, Buffer.from('"b"')), true);
  t.equal(attempt.chunkNumber, 1, 'the next chunk is number 2 again');
  await parts.recorder.taken(attempt);
  parts.recorder.answered(attempt);
  attempt.chunkNumber = 2;
  t.equal(parts.recorder.value(worker, attempt, Buffer.from('"b"')), false, 'a later one that is equal is another');
});

t.test('dropped attempts leave nothing for the next run', async (t) => {
  const folder = t.testdir({});
  const log = new RunLog({ folder, logger: createLogger('test', 'silent'), disk: machineDisk });
  await log.open();
  const recorder = new RunRecorder(log);
  const attempt = new Attempt({ ref, input: undefined, s3Config: undefined, nowMs: 0 });
  recorder.worker(container());
  await recorder.handed(container(), [attempt]);
  stream(recorder, attempt, container(), '"a"');
  await log.close();
  const second = new RunLog({ folder, logger: createLogger('test', 'silent'), disk: machineDisk });
  dropAllAttempts(await second.open(), second);
  t.equal(second.hasRecords, false);
  await second.close();
  const third = new RunLog({ folder, logger: createLogger('test', 'silent'), disk: machineDisk });
  const last = await third.open();
  t.same([[...last.workers], last.attempts, [...last.chunks]], [[], [], []]);
  await third.close();
});
