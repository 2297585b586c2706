// test: postgres
/** An agent whose core is away or rejects it: how often it tries, and how rarely it logs so. */
import { Writable } from 'node:stream';
import { ChunkLog } from '@slipway/gpu-agent/attempts/chunk-log';
import { ConnectLoop } from '@slipway/gpu-agent/session/connect-loop';
import { Lease } from '@slipway/gpu-agent/session/lease';
import { Outbox } from '@slipway/gpu-agent/session/outbox';
import { systemTransport } from '@slipway/kit/net/channel';
import { systemRandom } from '@slipway/kit/time/clock';
import { Hello } from '@slipway/proto/gen/slipway/v1/agent_service';
import { pino } from 'pino';
import type { Test } from 'tap';
import t from 'tap';
import { quietPort } from '../../helpers/net/ports.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

/** How long a session may take to be welcomed, in milliseconds: a limit, no pause. */
const WELCOME_MS = 5_000;

/** A clock on which every pause is over at once, and that notes how long it was. */
class HastyClock extends ManualClock {
  readonly pausesMs: number[] = [];

  override after(ms: number, fn: () => void) {
    if (ms === WELCOME_MS) return super.after(ms, fn);
    this.pausesMs.push(ms);
    const timer = super.after(ms, fn);
    setImmediate(() => this.pass(ms));
    return timer;
  }
}

interface Line {
  msg: string;
  level: number;
  failures?: number;
  reason?: string;
}

async function runLoop(t: Test, address: string, tries: number) {
  const lines: Line[] = [];
  const logger = pino(
    { level: 'debug' },
    new Writable({
      write(line: Buffer, _encoding, done) {
        lines.push(JSON.parse(line.toString()) as Line);
        done();
      },
    }),
  );
  const clock = new HastyClock();
  let tried = 0;
  const loop = new ConnectLoop({
    addresses: [address],
    key: () => 'no such key',
    transport: systemTransport,
    clock,
    logger,
    random: { ...systemRandom, fraction: () => 0 },
    outbox: new Outbox(new ChunkLog()),
    reports: {
      worker: () => undefined,
      pod: () => undefined,
      gpuLoads: () => ({ loads: [], workers: {} }),
      models: () => ({ models: [], limitBytes: 0, usedBytes: 0, peerAddress: '' }),
      containers: () => ({ engine: undefined, noEngineReason: '', images: [] }),
    },
    lease: new Lease({ clock, onExpired: () => undefined }),
    hello: () => {
      tried += 1;
      return Hello.fromPartial({ machine: { id: 'machine00001' } });
    },
    onUp: () => t.fail('there is no session'),
    onDown: () => undefined,
    onMessage: () => undefined,
  });
  await loop.start();
  t.teardown(() => loop.stop());
  await waitFor(`${tries} tries`, () => tried >= tries);
  return { lines, pausesMs: clock.pausesMs, passedMs: clock.monotonicMs() };
}

t.test('core is away', async (t) => {
  const { lines, pausesMs, passedMs } = await runLoop(t, `127.0.0.1:${await quietPort()}`, 60);
  t.same(pausesMs.slice(0, 6), [50, 100, 200, 400, 500, 500], 'quick at first: jobs wait for this machine');
  t.same(pausesMs.slice(14, 20), [500, 500, 1_000, 2_000, 2_500, 2_500], 'and slower when the lease is over anyway');
  const told = lines.filter(({ level }) => level >= 40);
  t.same(new Set(told.map(({ msg }) => msg)), new Set(['no session, will try again']));
  t.ok(
    told.length >= 2 && told.length <= 1 + passedMs / 60_000,
    `${told.length} lines in ${passedMs / 1000} s: one a minute`,
  );
  t.notMatch(told[0]!.reason, /^\d+$/, 'in words');
});

t.test('core refuses it', async (t) => {
  const core = await startReplicas(t);
  const { lines, pausesMs } = await runLoop(t, core.replicas[0]!.address, 10);
  t.same(pausesMs.slice(0, 9), [250, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]);
  t.same(new Set(lines.map(({ msg }) => msg)), new Set(['core rejects this agent, will try again']));
  t.match(lines[0]!.reason, /key/);
});
