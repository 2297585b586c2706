/** The order of messages on a session: heartbeats come first, and a stop never precedes the assignment that it ends. */
import { setImmediate as turn } from 'node:timers/promises';
import { SessionOutbox } from '@slipway/core/dispatch/session-outbox';
import { systemClock } from '@slipway/kit/time/clock';
import type { SessionResponse } from '@slipway/proto/gen/slipway/v1/agent_service';
import { Assignment } from '@slipway/proto/gen/slipway/v1/agent_service';
import t from 'tap';

const refOf = (jobId: string) => ({ endpointId: 'e', jobId, attempt: 1, workerId: 'w' });
const assignment = (jobId: string, bytes: number): Assignment =>
  Assignment.fromPartial({ ref: refOf(jobId), input: Buffer.alloc(bytes) });

t.test('a stop waits for the assignments before it, a heartbeat for nothing but the message in flight', async (t) => {
  const messages: SessionResponse[] = [];
  const taken: (() => void)[] = [];
  const outbox = new SessionOutbox(
    {
      write: (message, left) => {
        messages.push(message);
        taken.push(left);
      },
    },
    systemClock,
  );
  outbox.assign(['a', 'b', 'c', 'd', 'e', 'f'].map((jobId) => assignment(jobId, 250_000)));
  outbox.stop(refOf('f'), 'cancelled');
  await turn();
  outbox.heartbeat(7);
  await turn();
  t.equal(messages.length, 1, 'one message is in flight');
  t.same(
    messages[0]!.assignments.map(({ ref }) => ref!.jobId),
    ['a', 'b', 'c', 'd'],
    'about 1 MiB',
  );
  t.same(messages[0]!.stops, [], 'the agent would not know what to stop, and run it afterwards');
  taken.shift()!();
  t.match(messages[1], { heartbeat: { sequence: 7 }, stops: [{ reason: 'cancelled' }] });
  t.same(
    messages[1]!.assignments.map(({ ref }) => ref!.jobId),
    ['e', 'f'],
  );
});

t.test('the final message is sent with the queued ones, and nothing after it', async (t) => {
  const messages: SessionResponse[] = [];
  const outbox = new SessionOutbox(
    {
      write: (message) => {
        messages.push(message);
      },
    },
    systemClock,
  );
  outbox.ackOutcome(refOf('a'));
  outbox.end({ reason: 0, text: 'over' });
  outbox.close();
  outbox.ackOutcome(refOf('b'));
  await turn();
  t.equal(messages.length, 1);
  t.match(messages[0], { end: { text: 'over' }, outcomeAcks: [{ jobId: 'a' }] });
});
