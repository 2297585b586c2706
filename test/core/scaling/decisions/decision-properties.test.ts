// test: 10 s
/** Properties of decisions over generated samples and fleets. */

import type { QuotaState } from '@slipway/core/domain/accounts/quota';
import { fleetSample } from '@slipway/core/domain/scaling/fleet-sample';
import { survey } from '@slipway/core/domain/scaling/placement';
import { machineRefusal } from '@slipway/core/domain/scaling/placement-filters';
import type { PlacementMachine } from '@slipway/core/domain/scaling/placement-machine';
import type { Decision, DecisionSample, DecisionSettings } from '@slipway/core/domain/scaling/scale-decision';
import { decide } from '@slipway/core/domain/scaling/scale-decision';
import type { WorkerSample } from '@slipway/core/domain/scaling/scaler';
import { ASSUMED_TIMES } from '@slipway/core/domain/scaling/traffic';
import fc from 'fast-check';
import type { Test } from 'tap';
import t from 'tap';
import { SEED } from '../../../helpers/time/seeded-random.ts';

const MACHINES = ['m0', 'm1', 'm2', 'm3'];
const L4 = 'NVIDIA L4';
const A40 = 'NVIDIA A40';

const worker: fc.Arbitrary<Omit<WorkerSample, 'id'>> = fc.record({
  machineId: fc.constantFrom(...MACHINES),
  desired: fc.constantFrom('RUN', 'RUN', 'RUN', 'FREEZE', 'DRAIN'),
  state: fc.constantFrom('INITIALIZING', 'READY', 'READY', 'FROZEN', 'DRAINING', 'UNHEALTHY'),
  gpus: fc.constantFrom(0, 1),
  reachable: fc.boolean(),
  version: fc.constantFrom(1, 1, 1, 0),
  held: fc.nat(2),
  idleMs: fc.nat(9_000),
  ageMs: fc.nat(4_000_000),
  failures: fc.nat(3),
  retryDue: fc.boolean(),
});
const type = (gpu: string) =>
  fc.record({
    gpu: fc.constant(gpu),
    places: fc.nat(3),
    workers: fc.subarray(['w0', 'w1', 'w2']),
    startsMs: fc.constantFrom([], [2_000], [5_000, 60_000]),
  });
const traffic = fc.record({
  arrivalsPerSecondNow: fc.constantFrom(0, 0.1, 3),
  arrivalsPerSecond: fc.constantFrom(0, 0.1, 3),
  arrivalsPerSecondLong: fc.constantFrom(0, 0.01, 3),
  arrivalsPerSecondHour: fc.constantFrom(0, 0.01, 3),
  executionMs: fc.nat(20_000),
  startMs: fc.nat(40_000),
  slots: fc.integer({ min: 1, max: 4 }),
  byGpu: fc.tuple(type(L4), type(A40)),
  assumed: fc.constantFrom(ASSUMED_TIMES, { executionMs: 1, startsMs: [1] }),
});
const settings: fc.Arbitrary<DecisionSettings> = fc.record({
  workersMin: fc.nat(3),
  workersMax: fc.nat(6),
  idleTimeoutSeconds: fc.constantFrom(1, 5),
  scalerType: fc.constantFrom('QUEUE_DELAY', 'REQUEST_COUNT', 'SLO'),
  scalerValue: fc.integer({ min: 1, max: 4 }),
  flashBoot: fc.boolean(),
  version: fc.constant(1),
  imageName: fc.constant(''),
  gpuIds: fc.constantFrom([], [L4], [A40, L4]),
  gpuCount: fc.integer({ min: 0, max: 2 }),
  instanceIds: fc.constant([]),
  locations: fc.constant([]),
  allowedCudaVersions: fc.constant([]),
  dataCenterIds: fc.constant([]),
});
const gpus = fc.array(fc.record({ name: fc.constantFrom(L4, A40), used: fc.boolean() }), { maxLength: 4 });
const machine = fc.record({
  connected: fc.boolean(),
  gpus,
  cpuSlots: fc.nat(4),
  cpuSlotsUsed: fc.nat(2),
  siblings: fc.nat(2),
  hasImage: fc.boolean(),
  standbyMax: fc.nat(2),
  crashes: fc.constantFrom(undefined, undefined, 0, 0, 5_000),
});
type Made = typeof machine extends fc.Arbitrary<infer Value> ? Value : never;
const count = fc.option(fc.nat(5), { nil: null });
const use = fc.record({ workers: fc.nat(5), gpus: fc.nat(5) });
const quota: fc.Arbitrary<QuotaState> = fc.record({ quota: fc.record({ workers: count, gpus: count }), use });

/** A sample with its fleet, and the machines that the fleet was reduced from. */
const seen = fc
  .record({
    queued: fc.nat(20),
    traffic,
    oldestWaitMs: fc.nat(20_000),
    running: fc.nat(9),
    workers: fc.array(worker, { maxLength: 7 }),
    settings,
    quota,
    machines: fc.tuple(machine, machine, machine, machine),
  })
  .map(({ workers, settings: chosen, machines: given, quota: state, ...demand }) => {
    const named = workers.map((each, index) => ({ ...each, id: `w${index}` }));
    const sample: DecisionSample = { demand: { ...demand, workers: named }, settings: chosen };
    const machines = given.map((each, index) => machineOf(MACHINES[index]!, each, named));
    return { sample: { ...sample, fleet: fleetSample(sample, machines, state) }, machines };
  });

function machineOf(id: string, given: Made, workers: readonly WorkerSample[]): PlacementMachine {
  const standbys = workers
    .filter(({ machineId, desired }) => machineId === id && desired === 'FREEZE')
    .map(({ id: workerId, ageMs }) => ({ workerId, gpuUuids: [] as string[], instanceId: '', frozenMs: ageMs }));
  const { crashes: retryMs, ...facts } = given;
  return {
    ...facts,
    ...(retryMs !== undefined && { crashes: { failures: 2, retryMs, workerId: 'w', exitCode: null, comesLast: true } }),
    id,
    name: id,
    gone: false,
    cordoned: false,
    locations: [],
    cudaVersion: '',
    vcpus: 0,
    vcpusUsed: 0,
    memoryGb: 0,
    memoryGbUsed: 0,
    runsCommands: true,
    engine: undefined,
    noEngineReason: '',
    gpus: given.gpus.map((gpu, index) => ({
      ...gpu,
      uuid: `${id}-${index}`,
      migProfile: '',
      standby: false,
      unhealthy: '',
    })),
    standbys,
  };
}

const adds = ({ actions }: Decision) => actions.flatMap((action) => (action.do === 'ADD' ? [action] : []));
const named = ({ actions }: Decision, ...what: string[]) =>
  actions.flatMap((action) => (action.do !== 'ADD' && what.includes(action.do) ? [action.workerId] : []));

function holds(
  t: Test,
  what: string,
  check: (sample: DecisionSample, decision: Decision, machines: PlacementMachine[]) => boolean,
): void {
  t.test(what, async (t) => {
    t.doesNotThrow(() => {
      fc.assert(
        fc.property(seen, ({ sample, machines }) => check(sample, decide(sample), machines)),
        { seed: SEED, numRuns: 2_000 },
      );
    });
  });
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
const byId = ({ demand }: DecisionSample, id: string) => demand.workers.find((each) => each.id === id)!;

holds(t, 'the sample as it is kept gives the same decision', (sample, decision) =>
  same(decide(JSON.parse(JSON.stringify(sample)) as DecisionSample), decision),
);

holds(t, 'the machines that the sample leaves out change nothing', (sample, decision, machines) =>
  same(
    decide({ ...sample, fleet: { ...sample.fleet!, ...survey(machines, sample.fleet!.request, machines.length) } }),
    decision,
  ),
);

holds(t, 'a busy worker of this version goes only while there are more than workersMax', (sample, decision) => {
  const present = sample.demand.workers.filter(({ desired, version }) => desired === 'RUN' && version === 1);
  const busy = present.filter(({ held, state }) => held > 0 && state !== 'UNHEALTHY').map(({ id }) => id);
  const gone = named(decision, 'DRAIN', 'FREEZE', 'RETIRE').filter((id) => busy.includes(id));
  return gone.length <= Math.max(present.length - sample.settings.workersMax, 0);
});

holds(t, 'there are never more than workersMax for what it adds or wakes', (sample, decision) => {
  const draining = new Set(named(decision, 'DRAIN', 'FREEZE', 'RETIRE'));
  const staying = sample.demand.workers.filter(
    ({ id, desired, version }) => desired === 'RUN' && version === 1 && !draining.has(id),
  ).length;
  const more = adds(decision).length + named(decision, 'WAKE').length;
  return more === 0 || staying + more <= sample.settings.workersMax;
});

holds(
  t,
  'a machine where workers crashed gets none before its pause is over, nor while another could take it',
  (sample, decision, machines) => {
    const { request } = sample.fleet!;
    const calm = machines.some((each) => each.crashes === undefined && machineRefusal(each, request) === undefined);
    const [first] = adds(decision).map(({ machineId }) => machines.find(({ id }) => id === machineId)!.crashes);
    return (
      adds(decision).every(
        ({ machineId }) => (machines.find(({ id }) => id === machineId)!.crashes?.retryMs ?? 0) === 0,
      ) && !(calm && first)
    );
  },
);

holds(
  t,
  'no GPU is given twice, none that is used, and none on a machine that is away',
  (_sample, decision, machines) => {
    const given = adds(decision).flatMap(({ gpuUuids }) => gpuUuids);
    const free = new Set(
      machines
        .filter(({ connected }) => connected)
        .flatMap((each) => each.gpus.filter(({ used }) => !used).map(({ uuid }) => uuid)),
    );
    return new Set(given).size === given.length && given.every((uuid) => free.has(uuid));
  },
);

holds(t, 'what it adds and wakes stays within the quota', (sample, decision) => {
  const { quota: allowed, use } = sample.fleet!.quota;
  const given = named(decision, 'RETIRE')
    .map((id) => byId(sample, id))
    .filter(({ desired }) => desired !== 'FREEZE');
  const woken = named(decision, 'WAKE').map((id) => byId(sample, id));
  const more = adds(decision).length + woken.length;
  const moreGpus =
    adds(decision).reduce((sum, { gpuUuids }) => sum + gpuUuids.length, 0) +
    woken.reduce((sum, each) => sum + each.gpus, 0);
  const gpusAfter = use.gpus + moreGpus - given.reduce((sum, each) => sum + each.gpus, 0);
  return (
    more === 0 ||
    ((allowed.workers === null || use.workers + more - given.length <= allowed.workers) &&
      (allowed.gpus === null || moreGpus === 0 || gpusAfter <= allowed.gpus))
  );
});

holds(t, 'each worker is named once, and a limit that cuts is told', (_sample, decision) => {
  const ids = named(decision, 'WAKE', 'DRAIN', 'FREEZE', 'RETIRE');
  const told = (limit: string): boolean =>
    decision.limits.some((each) => each.limit === limit && each.cut > 0 && each.text !== '');
  return (
    new Set(ids).size === ids.length &&
    (decision.target >= decision.wished || (told('WORKERS_MAX') && decision.reason.includes('workersMax'))) &&
    (decision.throttled === 0 || told('NO_PLACE') || told('QUOTA')) &&
    decision.throttled > 0 === (decision.refusal !== '')
  );
});

const share = fc.record({ gpus: fc.nat(6), weight: fc.integer({ min: 1, max: 3 }) });
const asker = fc.record({
  waiting: fc.integer({ min: 1, max: 3 }),
  gpuCount: fc.integer({ min: 1, max: 3 }),
  paused: fc.constantFrom([], ['m1']),
});
const askers = fc.array(asker, { maxLength: 3 });
/** The same beside other accounts that wait for GPUs, and preemptible workers. */
const contested = fc
  .tuple(seen, share, share, askers, fc.nat(1_000))
  .map(([{ sample, machines }, mine, theirs, asking, sinceMs]) => {
    const own = { accountId: 'own', ...mine };
    const others = [{ accountId: 'other', ...theirs }];
    const rivals = asking.map(({ waiting, gpuCount, paused }) => ({
      accountId: 'other',
      waiting,
      paused,
      request: { ...sample.settings, gpuIds: [L4], gpuCount },
    }));
    const large = { ownSinceMs: 0, waiters: rivals.map(({ waiting: _, ...rival }) => ({ ...rival, sinceMs })) };
    const workers = machines.flatMap(({ id, gpus: all }) =>
      all
        .filter(({ used }) => used)
        .map(({ uuid }) => ({ id: `low ${uuid}`, accountId: 'own', machineId: id, gpuUuids: [uuid], draining: false })),
    );
    const competitors = { contention: { own, others, rivals, large }, candidates: { own, others, workers } };
    const { fleet, ...bare } = sample;
    return { sample: { ...bare, fleet: fleetSample(bare, machines, fleet!.quota, undefined, competitors) }, machines };
  });

t.test('with GPU contention: replays from its sample, no GPU assigned twice, and limits are named', async (t) => {
  const met = new Set<string>();
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(contested, ({ sample, machines }) => {
        const decision = decide(sample);
        for (const { limit } of decision.limits) met.add(limit);
        const asked = named(decision, 'PREEMPT');
        if (asked.length > 0) met.add('PREEMPT');
        const given = adds(decision).flatMap(({ gpuUuids }) => gpuUuids);
        const free = new Set(
          machines
            .filter(({ connected }) => connected)
            .flatMap((each) => each.gpus.filter(({ used }) => !used).map(({ uuid }) => uuid)),
        );
        const told = decision.limits.some(
          ({ limit, cut, text }) => ['NO_PLACE', 'QUOTA', 'FAIR_SHARE', 'KEPT_GPUS'].includes(limit) && cut > 0 && text,
        );
        return (
          same(decide(JSON.parse(JSON.stringify(sample)) as DecisionSample), decision) &&
          new Set(given).size === given.length &&
          given.every((uuid) => free.has(uuid)) &&
          (asked.length === 0 || decision.throttled > 0) &&
          new Set(asked).size === asked.length &&
          (decision.throttled === 0 || told)
        );
      }),
      { seed: SEED, numRuns: 3_000 },
    ),
  );
  for (const what of ['NO_PLACE', 'QUOTA', 'FAIR_SHARE', 'KEPT_GPUS', 'PREEMPT'])
    t.ok(met.has(what), `${what} was met`);
});
