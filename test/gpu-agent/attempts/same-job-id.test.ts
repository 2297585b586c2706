/** A client may give jobs of two endpoints the same request_id: on one machine they are two attempts. */

import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { Test } from 'tap';
import t from 'tap';
import { chunkOf } from '../make-outcome.ts';
import { wired } from './wired.ts';

/** Workers of two endpoints, each with the first attempt of a job of the same id. */
async function twice(t: Test) {
  const agent = await wired(t);
  await agent.desire({ one: 'e1', two: 'e2' });
  const refs = [agent.refOf('job', 'one'), agent.refOf('job', 'two')] as const;
  for (const ref of refs) await agent.give(ref);
  return { ...agent, refs };
}

t.test('both run, and a stop ends only its own', async (t) => {
  const { table, stopper, holdings, openStopPoll, refs } = await twice(t);
  t.same(
    table.all().map((attempt) => [attempt.ref.endpointId, attempt.phase]),
    [
      ['e1', 'handed'],
      ['e2', 'handed'],
    ],
  );
  stopper.stop([{ ref: refs[1], reason: '' }]);
  t.same(holdings.of('one').jobsToStop, []);
  t.same(openStopPoll('two'), ['job']);
});

t.test('both results, chunks and progress values reach core, and each waits for its own acknowledgement', async (t) => {
  const { table, chunks, outbox, message, outcomes, spool, refs } = await twice(t);
  for (const ref of refs) {
    chunks.add({ ...chunkOf('job', 1), ref });
    outbox.addProgress({ ref, output: Buffer.from('1') });
  }
  const sent = message()!;
  t.same(
    [sent.chunks, sent.progress].map((list) => list.map(({ ref }) => ref)),
    [refs, refs],
  );
  const outputs = [Buffer.from('"one"'), Buffer.from('"two"')];
  await Promise.all(
    table.all().map((attempt, i) => table.end(attempt, OutcomeKind.COMPLETED, { output: outputs[i]! })),
  );
  t.same(
    message()!.outcomes.map(({ ref, output }) => [ref, output]),
    [
      [refs[0], outputs[0]],
      [refs[1], outputs[1]],
    ],
  );
  t.equal(spool.size, 2);
  outcomes.acknowledge(refs[0]);
  t.same(outcomes.refs(), [refs[1]]);
  t.equal(spool.size, 1);
});
