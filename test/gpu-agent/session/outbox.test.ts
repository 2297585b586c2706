import { ChunkLog } from '@slipway/gpu-agent/attempts/chunk-log';
import type { Reports } from '@slipway/gpu-agent/session/outbox';
import { Outbox } from '@slipway/gpu-agent/session/outbox';
import type { WorkerReport } from '@slipway/proto/gen/slipway/v1/agent_service';
import { HttpHealth, OffloadFailure, StandbyLevel, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { BATCH_MESSAGE_BYTES } from '@slipway/proto/wire/limits';
import t from 'tap';
import { chunkOf, outcomeOf, refOf } from '../make-outcome.ts';

const reports: Reports = {
  worker: report,
  pod: () => undefined,
  gpuLoads: () => ({ loads: [], workers: {} }),
  models: () => ({ models: [], limitBytes: 0, usedBytes: 0, peerAddress: '' }),
  containers: () => ({ engine: undefined, noEngineReason: '', images: [] }),
};

function report(workerId: string): WorkerReport {
  return {
    workerId,
    endpointId: 'e',
    state: WorkerState.READY,
    capacity: 1,
    reason: '',
    exitCode: undefined,
    sdkVersion: '',
    refresh: false,
    address: '',
    health: HttpHealth.UNSPECIFIED,
    takesAhead: false,
    keepsAhead: false,
    singleUse: false,
    blocked: false,
    standbyLevel: StandbyLevel.UNSPECIFIED,
    gpuMemoryBytes: 0,
    lastOffload: undefined,
    lastRestore: undefined,
    offloadFailure: OffloadFailure.UNSPECIFIED,
  };
}

t.test('all queued messages leave together', async (t) => {
  const chunks = new ChunkLog();
  const outbox = new Outbox(chunks);
  let woken = 0;
  outbox.onWaiting = () => {
    woken += 1;
  };
  t.equal(outbox.take(reports), undefined);
  outbox.addHeartbeat(3);
  outbox.addHeartbeat(4);
  outbox.addWorker('w1');
  outbox.addWorker('w1');
  outbox.addProgress({ ref: refOf('a'), output: Buffer.from('1') });
  outbox.addProgress({ ref: refOf('a'), output: Buffer.from('2') });
  chunks.add(chunkOf('b', 1));
  outbox.addOutcome(outcomeOf('b'));
  const message = outbox.take(reports)!;
  t.equal(message.heartbeat?.sequence, 4);
  t.same(
    message.workers.map((worker) => worker.workerId),
    ['w1'],
  );
  t.same(
    message.progress.map((progress) => String(progress.output)),
    ['2'],
  );
  t.equal(message.chunks.length + message.outcomes.length, 2);
  t.equal(outbox.take(reports), undefined);
  t.equal(woken, 8);
});

t.test('an outcome never overtakes a chunk of its own', async (t) => {
  const chunks = new ChunkLog();
  const outbox = new Outbox(chunks);
  const big = 'x'.repeat(BATCH_MESSAGE_BYTES * 0.9);
  for (let number = 1; number <= 3; number += 1) chunks.add(chunkOf('a', number, big));
  outbox.addOutcome(outcomeOf('a'));
  outbox.addOutcome(outcomeOf('b'));
  const messages = [outbox.take(reports)!, outbox.take(reports)!, outbox.take(reports)!];
  t.same(
    messages.map((message) => message.chunks.map((chunk) => chunk.number)),
    [[1], [2], [3]],
  );
  t.same(
    messages.map(({ outcomes }) => outcomes.map(({ ref }) => ref!.jobId)),
    [['b'], [], ['a']],
    'those of others do not wait for them',
  );
  t.equal(outbox.take(reports), undefined);
});

t.test('at the limit in flight everything but chunks is sent', async (t) => {
  const chunks = new ChunkLog({ flyingMax: 2 });
  const outbox = new Outbox(chunks);
  for (let number = 1; number <= 5; number += 1) chunks.add(chunkOf('a', number));
  outbox.addOutcome(outcomeOf('a'));
  t.equal(outbox.take(reports)!.chunks.length, 2);
  t.equal(outbox.take(reports), undefined, 'no empty message');
  outbox.addHeartbeat(1);
  outbox.addOutcome(outcomeOf('b'));
  t.match(outbox.take(reports)!, { heartbeat: { sequence: 1 }, chunks: [], outcomes: [{ ref: { jobId: 'b' } }] });
  outbox.left();
  let idle = false;
  const waiting = outbox.idle().then(() => {
    idle = true;
  });
  chunks.acknowledge({ ref: refOf('a'), number: 2 });
  t.same(
    outbox.take(reports)!.chunks.map(({ number }) => number),
    [3, 4],
  );
  outbox.left();
  await Promise.resolve();
  t.notOk(idle, 'one is left, and the outcome behind it');
  chunks.acknowledge({ ref: refOf('a'), number: 4 });
  t.match(outbox.take(reports)!, { chunks: [{ number: 5 }], outcomes: [{ ref: { jobId: 'a' } }] });
  outbox.left();
  await waiting;
});

t.test('messages stay near their limit', async (t) => {
  const outbox = new Outbox(new ChunkLog());
  for (let i = 0; i < 100; i += 1) outbox.addOutcome(outcomeOf(`job-${i}`, Buffer.alloc(100_000, 'x')));
  outbox.addHeartbeat(1);
  let outcomes = 0;
  let messages = 0;
  for (let message = outbox.take(reports); message; message = outbox.take(reports)) {
    if (messages === 0) t.equal(message.heartbeat?.sequence, 1, 'a heartbeat does not wait behind results');
    messages += 1;
    outcomes += message.outcomes.length;
    t.ok(message.outcomes.length <= 11);
  }
  t.equal(outcomes, 100);
});

t.test('it is idle when its last message has left', async (t) => {
  const outbox = new Outbox(new ChunkLog());
  await outbox.idle();
  outbox.addWorker('w1');
  let idle = false;
  const waiting = outbox.idle().then(() => {
    idle = true;
  });
  outbox.take(reports);
  outbox.addWorker('w2');
  outbox.left();
  outbox.take(reports);
  await Promise.resolve();
  t.notOk(idle, 'the second is still on its way');
  outbox.left();
  await waiting;
});

t.test('a new session', async (t) => {
  const chunks = new ChunkLog();
  const outbox = new Outbox(chunks);
  outbox.addHeartbeat(7);
  outbox.addWorker('w1');
  outbox.beginSession();
  t.equal(outbox.take(reports), undefined, 'its hello tells all of this');
  outbox.addOutcome(outcomeOf('a'));
  chunks.add(chunkOf('b', 2));
  outbox.addOutcome(outcomeOf('b'));
  outbox.addWorker('w2');
  outbox.beginResend();
  const message = outbox.take(reports)!;
  t.same([message.chunks.length, message.outcomes], [1, []], 'their owner sends them again');
  t.same(
    message.workers.map((worker) => worker.workerId),
    ['w2'],
    'what changed since the hello stays',
  );
});
