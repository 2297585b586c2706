// test: 10 s
/** Properties of decisions over generated samples and fleets. */

import { fleetSample } from '@slipway/core/domain/scaling/fleet-sample';
import { survey } from '@slipway/core/domain/scaling/placement';
import { machineRefusal } from '@slipway/core/domain/scaling/placement-filters';
import type { PlacementMachine } from '@slipway/core/domain/scaling/placement-machine';
import type { Decision, DecisionSample } from '@slipway/core/domain/scaling/scale-decision';
import { decide } from '@slipway/core/domain/scaling/scale-decision';
import fc from 'fast-check';
import type { Test } from 'tap';
import t from 'tap';
import { SEED } from '../../../helpers/time/seeded-random.ts';
import { L4, seen } from './any-sample.ts';

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
