import t from 'tap';
import { HttpHealth, WorkerState } from '../../../proto/gen/slipway/v1/machine.ts';
import type { WorkerReport } from '../../../proto/gen/slipway/v1/agent_service.ts';
import { BATCH_MESSAGE_BYTES } from '../../../proto/wire/limits.ts';
import { Outbox } from '../../../gpu-agent/session/outbox.ts';
import type { Reports } from '../../../gpu-agent/session/outbox.ts';
import { chunkOf, outcomeOf, refOf } from '../make-outcome.ts';

const reports: Reports = { worker: report, pod: () => undefined, containers: () => ({ engine: undefined, noEngineReason: '', images: [] }) };

function report(workerId: string): WorkerReport {
  return {
    workerId, endpointId: 'e', state: WorkerState.READY, capacity: 1, reason: '', exitCode: undefined, sdkVersion: '', refresh: false, address: '',
    health: HttpHealth.UNSPECIFIED, takesAhead: false, keepsAhead: false, singleUse: false,
  };
}

t.test('everything that waits leaves together', async (t) => {
  const outbox = new Outbox();
  let woken = 0;
  outbox.onWaiting = () => { woken += 1; };
  t.equal(outbox.take(reports), undefined);
  outbox.addHeartbeat(3);
  outbox.addHeartbeat(4);
  outbox.addWorker('w1');
  outbox.addWorker('w1');
  outbox.addProgress({ ref: refOf('a'), output: Buffer.from('1') });
  outbox.addProgress({ ref: refOf('a'), output: Buffer.from('2') });
  outbox.addChunk(chunkOf('b', 1));
  outbox.addOutcome(outcomeOf('b'));
  const message = outbox.take(reports)!;
  t.equal(message.heartbeat?.sequence, 4);
  t.same(message.workers.map((worker) => worker.workerId), ['w1']);
  t.same(message.progress.map((progress) => String(progress.output)), ['2']);
  t.equal(message.chunks.length + message.outcomes.length, 2);
  t.equal(outbox.take(reports), undefined);
  t.equal(woken, 8);
});

t.test('an outcome never overtakes a chunk', async (t) => {
  const outbox = new Outbox();
  const big = 'x'.repeat(BATCH_MESSAGE_BYTES * 0.9);
  for (let number = 1; number <= 3; number += 1) outbox.addChunk(chunkOf('a', number, big));
  outbox.addOutcome(outcomeOf('a'));
  const messages = [outbox.take(reports)!, outbox.take(reports)!, outbox.take(reports)!];
  t.same(messages.map(({ chunks }) => chunks.map((chunk) => chunk.number)), [[1], [2], [3]]);
  t.same(messages.map(({ outcomes }) => outcomes.length), [0, 0, 1]);
  t.equal(outbox.take(reports), undefined);
});

t.test('messages stay near their limit', async (t) => {
  const outbox = new Outbox();
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
  const outbox = new Outbox();
  await outbox.idle();
  outbox.addWorker('w1');
  let idle = false;
  const waiting = outbox.idle().then(() => { idle = true; });
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
  const outbox = new Outbox();
  outbox.addHeartbeat(7);
  outbox.addWorker('w1');
  outbox.beginSession();
  t.equal(outbox.take(reports), undefined, 'its hello tells all of this');
  outbox.addOutcome(outcomeOf('a'));
  outbox.addChunk(chunkOf('b', 2));
  outbox.addWorker('w2');
  outbox.beginResend();
  const message = outbox.take(reports)!;
  t.same([message.chunks, message.outcomes], [[], []], 'their owners send them again');
  t.same(message.workers.map((worker) => worker.workerId), ['w2'], 'what changed since the hello stays');
});
