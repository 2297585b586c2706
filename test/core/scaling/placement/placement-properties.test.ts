/**
 * Properties of placement on generated machines: GPU types are used in exact order, except that machines with crashes
 * come last; nothing is assigned twice; blocks are kept and workers spread.
 */

import type { PlacementSlot } from '@slipway/core/domain/scaling/placement';
import { occupied, place } from '@slipway/core/domain/scaling/placement';
import type { PlacementMachine, PlacementRequest } from '@slipway/core/domain/scaling/placement-machine';
import fc from 'fast-check';
import t from 'tap';
import { SEED } from '../../../helpers/time/seeded-random.ts';
import { fleet, request, TYPES } from './any-fleet.ts';

/** Returns unused whole cards of a type. */
const free = (at: PlacementMachine, type: string) =>
  at.gpus.filter(
    ({ name, used, migProfile, unhealthy }) => name === type && !used && migProfile === '' && unhealthy === '',
  );
const mayRun = (at: PlacementMachine, { locations }: PlacementRequest) =>
  at.connected &&
  !at.cordoned &&
  (locations.length === 0 || locations.includes(at.locations[0] ?? '')) &&
  (at.crashes?.retryMs ?? 0) === 0;
/** Crashes by which a machine is ranked lower. */
const blame = ({ crashes }: PlacementMachine): number => (crashes?.comesLast === true ? crashes.failures : 0);
/** Returns the first free type on the machines with the fewest crashes. */
function firstFree(machines: PlacementMachine[], asked: PlacementRequest): string | undefined {
  const has = (at: PlacementMachine, type: string): boolean =>
    mayRun(at, asked) && free(at, type).length >= asked.gpuCount;
  const able = machines.filter((each) => asked.gpuIds.some((type) => has(each, type)));
  const least = Math.min(...able.map(blame));
  return asked.gpuIds.find((type) => able.some((each) => blame(each) === least && has(each, type)));
}

function holds(
  what: string,
  check: (machines: PlacementMachine[], asked: PlacementRequest, placed: PlacementSlot | undefined) => boolean,
): void {
  t.test(what, async (t) => {
    t.doesNotThrow(() =>
      fc.assert(
        fc.property(fleet, request, (machines, asked) => {
          const placed = place(machines, asked);
          return check(machines, asked, 'machineId' in placed ? placed : undefined);
        }),
        { seed: SEED, numRuns: 3_000 },
      ),
    );
  });
}

const named = ({ gpuIds }: PlacementRequest) => gpuIds.length > 0;
const at = (machines: PlacementMachine[], placed: PlacementSlot) => machines.find(({ id }) => id === placed.machineId)!;

holds(
  'the first listed type that is free anywhere wins, and nothing is refused that has one',
  (machines, asked, placed) => {
    if (!named(asked)) return true;
    const type = firstFree(machines, asked);
    return placed === undefined
      ? type === undefined
      : at(machines, placed).gpus.find(({ uuid }) => uuid === placed.gpuUuids[0])!.name === type;
  },
);

holds(
  'as many as asked for, of one kind, on one machine that may run it, free until then',
  (machines, asked, placed) => {
    if (!placed) return true;
    const given = at(machines, placed).gpus.filter(({ uuid }) => placed.gpuUuids.includes(uuid));
    const kinds = new Set(given.map(({ name, migProfile }) => `${name} ${migProfile}`));
    const well = given.every(({ used, unhealthy }) => !used && unhealthy === '');
    return well && given.length === asked.gpuCount && kinds.size === 1 && mayRun(at(machines, placed), asked);
  },
);

holds('who goes on sleeping has nothing that is given away', (machines, _asked, placed) => {
  if (!placed) return true;
  const left = at(machines, placed).standbys.filter(({ workerId }) => !placed.evicted.includes(workerId));
  return left.every(({ gpuUuids }) => !gpuUuids.some((uuid) => placed.gpuUuids.includes(uuid)));
});

holds('one after the other until nothing fits: no GPU twice, and the order of types stays exact', (machines, asked) => {
  if (!named(asked)) return true;
  const given: string[] = [];
  let now = machines;
  for (let placed = place(now, asked); 'machineId' in placed; placed = place(now, asked)) {
    const { machineId, gpuUuids } = placed;
    const type = at(now, placed).gpus.find(({ uuid }) => uuid === gpuUuids[0])!.name;
    if (type !== firstFree(now, asked)) return false;
    given.push(...gpuUuids);
    now = now.map((each) => (each.id === machineId ? occupied(each, placed as PlacementSlot) : each));
  }
  return new Set(given).size === given.length && firstFree(now, asked) === undefined;
});

holds(
  'where machines differ in nothing else, the smallest block of the type that suffices is taken',
  (machines, asked) => {
    if (!named(asked)) return true;
    const plain = machines.map(
      ({ crashes: _, ...each }): PlacementMachine => ({
        ...each,
        siblings: 0,
        hasImage: false,
        standbys: [],
        gpus: each.gpus.map((gpu) => ({ ...gpu, standby: false })),
      }),
    );
    const placed = place(plain, asked);
    if (!('machineId' in placed)) return true;
    const type = firstFree(plain, asked)!;
    const blocks = plain
      .filter((each) => mayRun(each, asked))
      .map((each) => free(each, type).length)
      .filter((size) => size >= asked.gpuCount);
    return free(at(plain, placed), type).length === Math.min(...blocks);
  },
);

t.test('workers of an endpoint are spread over machines if possible', async (t) => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 4 }), fc.nat(20), (count, each, wanted) => {
        let machines = Array.from(
          { length: count },
          (_, index): PlacementMachine => ({
            id: `m${index}`,
            name: `m${index}`,
            connected: true,
            gone: false,
            cordoned: false,
            locations: [],
            cpuSlots: 0,
            cpuSlotsUsed: 0,
            cudaVersion: '',
            siblings: 0,
            vcpus: 0,
            vcpusUsed: 0,
            memoryGb: 0,
            memoryGbUsed: 0,
            standbys: [],
            standbyMax: 0,
            runsCommands: true,
            engine: undefined,
            noEngineReason: '',
            hasImage: false,
            gpus: Array.from({ length: each }, (__, n) => ({
              uuid: `${index}-${n}`,
              name: TYPES[0],
              migProfile: '',
              used: false,
              standby: false,
              unhealthy: '',
            })),
          }),
        );
        const placedOn = new Map(machines.map(({ id }) => [id, 0]));
        for (let n = 0; n < wanted; n += 1) {
          const placed = place(machines, {
            gpuIds: [TYPES[0]],
            gpuCount: 1,
            imageName: '',
            instanceIds: [],
            locations: [],
            allowedCudaVersions: [],
            dataCenterIds: [],
          });
          if (!('machineId' in placed)) return n === count * each;
          machines = machines.map((machineAt) =>
            machineAt.id === placed.machineId ? occupied(machineAt, placed) : machineAt,
          );
          placedOn.set(placed.machineId, placedOn.get(placed.machineId)! + 1);
        }
        const counts = [...placedOn.values()];
        return Math.max(...counts) - Math.min(...counts) <= 1;
      }),
      { seed: SEED },
    ),
  );
});

t.test('the only machine with the image gets at most two workers more than any other with capacity', async (t) => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 5 }), fc.integer({ min: 1, max: 12 }), (count, wanted) => {
        let machines = Array.from(
          { length: count },
          (_, index): PlacementMachine => ({
            id: `m${index}`,
            name: `m${index}`,
            connected: true,
            gone: false,
            cordoned: false,
            locations: [],
            cpuSlots: 20,
            cpuSlotsUsed: 0,
            cudaVersion: '',
            siblings: 0,
            vcpus: 0,
            vcpusUsed: 0,
            memoryGb: 0,
            memoryGbUsed: 0,
            standbys: [],
            standbyMax: 0,
            runsCommands: false,
            engine: { gpuHandover: 'NONE' },
            noEngineReason: '',
            hasImage: index === 0,
            gpus: [],
          }),
        );
        for (let n = 0; n < wanted; n += 1) {
          const placed = place(machines, {
            gpuIds: [],
            gpuCount: 0,
            imageName: 'i',
            instanceIds: [],
            locations: [],
            allowedCudaVersions: [],
            dataCenterIds: [],
          }) as PlacementSlot;
          if (n < 2 && placed.machineId !== 'm0') return false;
          machines = machines.map((each) => (each.id === placed.machineId ? occupied(each, placed) : each));
        }
        const [first, ...others] = machines.map(({ siblings }) => siblings);
        return (
          first! - Math.min(...others) <= 2 &&
          Math.max(...others) - Math.min(...others) <= 1 &&
          Math.max(...others) <= first!
        );
      }),
      { seed: SEED },
    ),
  );
});
