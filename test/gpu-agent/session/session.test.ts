/** One session from hello to end, on a stream whose other side is the test. */
import { EventEmitter } from 'node:events';
import type { ClientDuplexStream } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import { ChunkLog } from '@slipway/gpu-agent/attempts/chunk-log';
import { Lease } from '@slipway/gpu-agent/session/lease';
import { Outbox } from '@slipway/gpu-agent/session/outbox';
import { Session, WELCOME_MS } from '@slipway/gpu-agent/session/session';
import { AnswerLimit } from '@slipway/kit/time/answer-limit';
import type { SessionRequest } from '@slipway/proto/gen/slipway/v1/agent_service';
import { Hello, SessionResponse } from '@slipway/proto/gen/slipway/v1/agent_service';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { turn } from '../attempts/wired.ts';
import { chunkOf, outcomeOf } from '../make-outcome.ts';

const PERIOD_MS = 2_000;
const LEASE_MS = 10_000;

async function begin(limit = new AnswerLimit(WELCOME_MS)) {
  const clock = new ManualClock();
  const sent: SessionRequest[] = [];
  const cancelled: boolean[] = [];
  const stream = Object.assign(new EventEmitter(), {
    write: (message: SessionRequest, left: () => void) => {
      sent.push(message);
      left();
    },
    cancel: () => cancelled.push(true),
  }) as unknown as ClientDuplexStream<SessionRequest, SessionResponse>;
  const expired: number[] = [];
  const lease = new Lease({ clock, onExpired: () => expired.push(clock.monotonicMs()) });
  const chunks = new ChunkLog();
  const outbox = new Outbox(chunks);
  const heard: SessionResponse[] = [];
  let welcomes = 0;
  const session = new Session({
    stream,
    outbox,
    lease,
    limit,
    clock,
    hello: Hello.fromPartial({ instance: 'me' }),
    reports: {
      worker: () => undefined,
      pod: () => undefined,
      gpuLoads: () => ({ loads: [], workers: {} }),
      models: () => ({ models: [], limitBytes: 0, usedBytes: 0, peerAddress: '' }),
      containers: () => ({ engine: undefined, noEngineReason: '', images: [] }),
    },
    onWelcome: () => {
      welcomes += 1;
      chunks.sendAll();
    },
    onMessage: (message) => heard.push(message),
  });
  const end = session.run();
  const say = (message: Parameters<typeof SessionResponse.fromPartial>[0]): void => {
    stream.emit('data', SessionResponse.fromPartial(message));
  };
  await turn();
  return {
    clock,
    sent,
    stream,
    lease,
    outbox,
    chunks,
    heard,
    session,
    end,
    say,
    expired,
    cancelled,
    welcomes: () => welcomes,
    welcome: async () => {
      say({ welcome: { sessionId: 's', heartbeatPeriodMs: PERIOD_MS, leaseMs: LEASE_MS } });
      await turn();
    },
  };
}

t.test('it begins with its hello and a heartbeat, and sends nothing else before the welcome', async (t) => {
  const { sent, outbox, chunks, welcome, welcomes } = await begin();
  t.match(sent, [{ hello: { instance: 'me' }, heartbeat: { sequence: 1 } }]);
  chunks.add(chunkOf('a', 1));
  outbox.addWorker('w');
  await turn();
  t.equal(sent.length, 1);
  await welcome();
  t.equal(welcomes(), 1);
  t.match(sent.slice(1), [{ heartbeat: { sequence: 2 }, chunks: [{ number: 1 }] }]);
});

t.test('heartbeats continue as long as they are answered', async (t) => {
  const { clock, sent, say, welcome, end, lease } = await begin();
  await welcome();
  for (let sequence = 2; sequence <= 6; sequence += 1) {
    t.equal(sent.at(-1)!.heartbeat?.sequence, sequence);
    say({ heartbeat: { sequence } });
    t.equal(lease.expiresAtMs, clock.monotonicMs() + LEASE_MS, 'counted from when it was sent');
    clock.pass(PERIOD_MS);
    await turn();
  }
  for (let i = 0; i < 4; i += 1) clock.pass(PERIOD_MS);
  t.match(await end, { reason: 'core stopped answering', welcomed: true });
});

t.test('a slow core gets more time with each session, until it answers again', async (t) => {
  const limit = new AnswerLimit(WELCOME_MS);
  const first = await begin(limit);
  first.clock.pass(WELCOME_MS.firstMs);
  t.match(await first.end, { welcomed: false });
  const second = await begin(limit);
  second.clock.pass(WELCOME_MS.firstMs);
  await second.welcome();
  for (let i = 0; i < 5; i += 1) second.clock.pass(PERIOD_MS);
  second.say({ heartbeat: { sequence: 7 } });
  t.equal(second.cancelled.length, 0, 'neither a late welcome nor a late answer ends the session');
  for (let i = 0; i < 20; i += 1) {
    second.clock.pass(PERIOD_MS);
    await turn();
    second.say({ heartbeat: { sequence: second.sent.at(-1)!.heartbeat!.sequence } });
  }
  t.equal(limit.factor, 1);
});

t.test("queued messages leave together, and core's messages are handed on", async (t) => {
  const { sent, outbox, chunks, welcome, say, heard } = await begin();
  await welcome();
  const before = sent.length;
  chunks.add(chunkOf('a', 1));
  outbox.addOutcome(outcomeOf('a'));
  await turn();
  t.equal(sent.length, before + 1);
  t.same([sent.at(-1)!.chunks.length, sent.at(-1)!.outcomes.length], [1, 1]);
  say({ outcomeAcks: [outcomeOf('a').ref!] });
  t.match(heard.at(-1), { outcomeAcks: [{ jobId: 'a' }] });
});

t.test('how it ends', async (t) => {
  const silent = await begin();
  silent.clock.pass(5_000);
  t.match(await silent.end, { reason: 'core did not welcome the agent in time', welcomed: false });
  const rude = await begin();
  rude.say({ stops: [] });
  t.match(await rude.end, { reason: /before its welcome/, welcomed: false });
  const refused = await begin();
  refused.stream.emit('error', Object.assign(new Error(), { code: status.UNAUTHENTICATED, details: 'no such key' }));
  t.match(await refused.end, { reason: 'UNAUTHENTICATED: no such key', code: status.UNAUTHENTICATED });
  const told = await begin();
  await told.welcome();
  told.say({ end: { text: 'this replica shuts down' } });
  told.stream.emit('end');
  t.match(await told.end, { reason: 'this replica shuts down', welcomed: true });
  t.same(told.cancelled, [true], 'its stream is given up');
  told.outbox.addHeartbeat(99);
  told.clock.pass(60_000);
  const count = told.sent.length;
  await turn();
  t.equal(told.sent.length, count, 'and nothing is said any more');
  t.same(told.expired.length, 1, 'the lease runs on until its end');
});
