// test: alone, postgres, 110 s
/**
 * A load-balancing worker survives in the middle of a request although core does not hear of the request: core
 * restarts, is away for a while, or its connections break silently. All times are a fifth.
 */

// First: modules loaded earlier have already read the times.
import '../helpers/time/fifth-timers.ts';

import { DEMAND_VALID_MS } from '@slipway/core/store/sql/demand-rows';
import { delay, systemClock } from '@slipway/kit/time/clock';
import { LINK_TIMERS } from '@slipway/proto/wire/link-timers';
import postgres from 'postgres';
import t from 'tap';
import { quietPort } from '../helpers/net/ports.ts';
import { silentDropProxy } from '../helpers/net/silent-drop-proxy.ts';
import { lbClient, lbEndpoint } from '../helpers/system/lb-endpoint.ts';
import { startSystem } from '../helpers/system/system.ts';
import { DIVISOR } from '../helpers/time/fifth-timers.ts';

t.setTimeout(600_000);
t.equal(DEMAND_VALID_MS, 45_000 / DIVISOR, 'the times are divided');

const port = await quietPort();
const proxy = await silentDropProxy(t, { host: '127.0.0.1', port });
const system = await startSystem(t, {
  coreEnv: { SLIPWAY_CORE_LISTEN: `127.0.0.1:${port}` },
  facadeEnv: { SLIPWAY_CORE_ADDRESS: `127.0.0.1:${proxy.port}`, SLIPWAY_LB_PROCESSING_MS: '600000' },
});
let core: { address: string; stop(): Promise<void> } = system.cores[0]!;
const sql = postgres(system.database.url, { max: 1, onnotice: () => undefined });
t.teardown(() => sql.end());
const { at } = lbClient(system);

async function coreAway(ms: number): Promise<void> {
  await core.stop();
  await delay(systemClock, ms);
  core = await system.startCore(core.address);
}

const { demandValidMs, reportsSettleMs } = LINK_TIMERS;
/**
 * How long a worker has to be without a word before anything could happen to it, beside the idle time of its endpoint.
 */
const HARMFUL_MS = demandValidMs + reportsSettleMs + 3_000;

const over = new AbortController();
let ids: string[] = [];
let requests: Promise<Response>[] = [];
let before: { id: string; desired: string; state: string }[] = [];
const workers = async (): Promise<typeof before> => [
  ...(await sql<
    typeof before
  >`SELECT id, desired, state FROM worker WHERE endpoint_id = ANY(${ids}::text[]) ORDER BY id`),
];

t.test('each endpoint has a worker, in the middle of a request that lasts all along', async (t) => {
  ids = await Promise.all(
    [1, 2].map((idleTimeoutSeconds) => lbEndpoint(system, { idleTimeoutSeconds, workersMax: 2, scalerValue: 1 })),
  );
  t.same(
    await Promise.all(ids.map(async (id) => (await at(id, '/warm')).status)),
    ids.map(() => 200),
  );
  requests = ids.map((id) =>
    at(id, '/held', { method: 'POST', duplex: 'half', body: untilAborted(over.signal) } as RequestInit),
  );
  await delay(systemClock, 1_000);
  before = await workers();
  t.equal(before.length, ids.length);
});

for (const [name, happens] of [
  ['core restarts', () => coreAway(0)],
  ['core is away for as long as reports count', () => coreAway(demandValidMs)],
  ['core is away for three times as long', () => coreAway(3 * demandValidMs)],
  ['the connections of a facade break in silence', async () => proxy.forgetAll()],
] as const) {
  t.test(name, async (t) => {
    await happens();
    await delay(systemClock, HARMFUL_MS + 2_000);
    t.same(
      await workers(),
      before.map(({ id }) => ({ id, desired: 'RUN', state: 'READY' })),
      'each has the worker that it had, and no other',
    );
  });
}

t.test('the requests end well', async (t) => {
  over.abort();
  t.same(
    (await Promise.all(requests)).map(({ status }) => status),
    ids.map(() => 200),
  );
});

/** Returns a body that ends when the signal aborts. */
function untilAborted(signal: AbortSignal): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('begun'));
      signal.addEventListener('abort', () => controller.close(), { once: true });
    },
  });
}
