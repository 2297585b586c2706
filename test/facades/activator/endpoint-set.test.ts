// test: 10 s
/**
 * A facade knows the workers of an endpoint at every request: after any silence, after requests of any length, and
 * after any fault in between.
 */

import type { WatchRotationResponse } from '@slipway/proto/gen/slipway/v1/edge_service';
import { LINK_TIMERS } from '@slipway/proto/wire/link-timers';
import type { Test } from 'tap';
import t from 'tap';
import { SEED, seededRandom } from '../../helpers/time/seeded-random.ts';
import { turns } from '../../helpers/time/stepping-clock.ts';
import type { Asked, Old } from './endpoint-set-world.ts';
import { EndpointSetWorld } from './endpoint-set-world.ts';

t.setTimeout(600_000);
/** Seconds between the end of one request and the next. */
const SILENCES = [0.5, 3, 14, 28, 50, 59, 61, 66, 72, 80, 88, 140];
/** Seconds that the first request takes. */
const LENGTHS = [0, 30, 62, 120];
/** Moments of core's and the facade's own periods at which each is tried. */
const PHASES = 3;
const STEPS = 250;

/** Returns, for one pair of releases, how many second requests were held, by length and silence. */
async function heldTable(t: Test, old: Old): Promise<Record<string, number>> {
  const random = seededRandom();
  const world = new EndpointSetWorld(random, old);
  await world.start({ facades: 1, endpoints: 1, replicas: 1 });
  const [endpointId] = [...world.endpoints.keys()] as [string];
  const held: Record<string, number> = {};
  for (const length of LENGTHS) {
    for (const silence of SILENCES) {
      for (let phase = 0; phase < PHASES; phase += 1) {
        await world.clock.pass(200_000 + random.below(15_000));
        world.ask(0, endpointId, { keepMs: Math.max(length * 1_000, 5) });
        await world.clock.pass((length + silence) * 1_000);
        const next = world.ask(0, endpointId);
        await world.clock.pass(2_000);
        if (next.outcome !== 'got')
          held[`${length} s, then ${silence} s of silence`] =
            (held[`${length} s, then ${silence} s of silence`] ?? 0) + 1;
        next.leave();
      }
    }
  }
  t.equal(world.resent, 0, 'nothing is sent again to a facade that has it');
  await world.stop();
  return held;
}

for (const old of ['none', 'facades', 'cores'] as const) {
  t.test(`no request is held after silence or a long request; of the release before: ${old}`, async (t) => {
    t.same(await heldTable(t, old), {});
  });
}

t.test('only a set that a facade has not applied after 2 s counts as resent', async (t) => {
  const world = new EndpointSetWorld(seededRandom());
  await world.start({ facades: 1, endpoints: 1, replicas: 1 });
  const [endpointId] = [...world.endpoints.keys()] as [string];
  await world.clock.pass(1_000);
  const [stream] = [...world.streams];
  let received = '';
  stream!.on('data', ({ rotations }: WatchRotationResponse) => {
    received = rotations[0]?.version ?? received;
  });
  const report = async (version: string, thenMs: number): Promise<void> => {
    world.facades[0]!.link.report({ endpointId, apiKey: 'key1', waiting: 1, workers: [], version });
    await turns(8);
    await world.clock.pass(thenMs);
  };
  await report('', 2_000);
  t.not(received, '');
  await report(received, 5_000);
  await report('', 50);
  await report('', 3_000);
  t.equal(world.resent, 0, 'it has dropped the endpoint, and asks anew and again');
  await report('', 50);
  t.equal(world.resent, 1, 'it has had 3 s to apply the set');
  await world.stop();
});

t.test('the late end of a replaced stream changes nothing', async (t) => {
  const world = new EndpointSetWorld(seededRandom());
  await world.start({ facades: 1, endpoints: 1, replicas: 1 });
  const [endpointId] = [...world.endpoints.keys()] as [string];
  await world.clock.pass(1_000);
  const [first] = [...world.streams];
  first!.cut();
  await world.clock.pass(5_000);
  t.ok(world.facades[0]!.link.isUp, 'another stream stands');
  first!.emit('end');
  t.ok(world.facades[0]!.link.isUp, 'it still does');
  const asked = world.ask(0, endpointId);
  await world.clock.pass(1_000);
  t.equal(asked.outcome, 'got');
  await world.stop();
});

t.test('a facade drops its set once core refuses to update it', async (t) => {
  const world = new EndpointSetWorld(seededRandom());
  await world.start({ facades: 1, endpoints: 1, replicas: 1 });
  const [endpointId] = [...world.endpoints.keys()] as [string];
  const first = world.ask(0, endpointId, { apiKey: 'key2' });
  await world.clock.pass(1_000);
  t.equal(first.outcome, 'got');
  world.faults.refusedKey = 'key2';
  await world.clock.pass(10_000);
  world.endpoints.get(endpointId)!.workers = [];
  const { id } = world.addWorker(endpointId);
  const next = world.ask(0, endpointId, { apiKey: 'key1' });
  await world.clock.pass(2_000);
  t.equal(next.workerId, id, 'the worker that there is now');
  await world.stop();
});

/** Faults between two checks. Each resolves once it is over. */
function faultsOf(world: EndpointSetWorld): Record<string, () => Promise<void>> {
  const { random, clock, faults, endpoints } = world;
  const someEndpoint = (): string => random.one([...endpoints.keys()]);
  const sometimesHint = (id: string): void => {
    if (random.fraction() < 0.7) world.hint(id);
  };
  const during = async (change: Partial<typeof faults>, untilMs: number): Promise<void> => {
    const before = { ...faults };
    Object.assign(faults, change);
    await clock.pass(random.below(untilMs));
    Object.assign(faults, before);
  };
  return {
    silence: () => clock.pass(random.below(100_000)),
    pause: () => clock.pass(random.below(5_000)),
    burst: async () => {
      for (let i = random.below(30); i >= 0; i -= 1) {
        world.ask(random.below(2), someEndpoint(), {
          keepMs: random.below(3_000),
          apiKey: random.one(['key1', 'key2']),
        });
      }
      await clock.pass(random.below(500));
    },
    long: async () => {
      world.ask(random.below(2), someEndpoint(), { keepMs: LINK_TIMERS.demandRememberedMs + random.below(60_000) });
      await clock.pass(random.below(130_000));
    },
    replaced: async () => {
      const id = someEndpoint();
      endpoints.get(id)!.workers.shift();
      sometimesHint(id);
      await clock.pass(random.below(300));
      world.addWorker(id, random.fraction() < 0.5 ? '10.0.0.1:999' : undefined);
      sometimesHint(id);
    },
    flap: async () => {
      const id = someEndpoint();
      for (const ready of [false, true]) {
        for (const worker of endpoints.get(id)!.workers) worker.ready = ready;
        sometimesHint(id);
        await clock.pass(random.below(200));
      }
    },
    cut: async () => {
      if (world.streams.size > 0) random.one([...world.streams]).cut();
    },
    end: async () => {
      if (world.streams.size > 0) random.one([...world.streams]).other.emit('end');
    },
    databaseAway: () => during({ databaseAway: true }, 20_000),
    databaseSlow: () => during({ databaseSlowMs: 300 }, 3_000),
    accessAway: () => during({ accessAway: true }, 40_000),
    keyRefused: () => during({ refusedKey: 'key2' }, 20_000),
    leave: async () => {
      for (const one of world.held) if (random.fraction() < 0.5) one.leave();
    },
    lag: () => during({ lagMs: 3_000 }, 30_000),
  };
}

/** Sends up to two requests while nothing else happens, as a user would. Returns the last one. */
async function askInQuiet(world: EndpointSetWorld, facade: number, endpointId: string): Promise<Asked> {
  const first = world.ask(facade, endpointId, { waitMs: 10_000 });
  await world.clock.pass(3_000);
  if (first.outcome === undefined) return first;
  const second = world.ask(facade, endpointId, { waitMs: 10_000 });
  await world.clock.pass(600);
  return second;
}

for (const old of ['none', 'facades'] as const) {
  t.test(`whatever breaks, within 3 s a request gets a live worker; of the release before: ${old}`, async (t) => {
    const random = seededRandom(SEED + (old === 'none' ? 0 : 1));
    const world = new EndpointSetWorld(random, old);
    await world.start();
    const faults = faultsOf(world);
    const trail: string[] = [];
    const wrong: string[] = [];
    let checks = 0;
    for (let step = 0; step < STEPS; step += 1) {
      const kind = random.one(Object.keys(faults));
      trail.push(kind);
      await faults[kind]!();
      await world.clock.pass(200);
      const facade = random.below(2);
      const endpointId = random.one([...world.endpoints.keys()]);
      const asked = await askInQuiet(world, facade, endpointId);
      checks += 1;
      const { workers } = world.endpoints.get(endpointId)!;
      const load = world.facades[facade]!.loads.get(endpointId)?.workers ?? [];
      const isFull = workers.every(({ id }) => (load.find(({ workerId }) => workerId === id)?.inFlight ?? 0) >= 4);
      if (asked.outcome === undefined && !isFull) wrong.push(`held after ${trail.slice(-4).join(', ')}`);
      if (asked.outcome === 'got' && !workers.some(({ id }) => id === asked.workerId))
        wrong.push(`a worker that is gone after ${trail.slice(-4).join(', ')}`);
      asked.leave();
    }
    t.same(wrong, [], `of ${checks} looks`);
    await world.stop();
  });
}
