/** Arbitrary samples for properties of scaling decisions. */

import type { QuotaState } from '@slipway/core/domain/accounts/quota';
import { fleetSample } from '@slipway/core/domain/scaling/fleet-sample';
import type { PlacementMachine } from '@slipway/core/domain/scaling/placement-machine';
import type { DecisionSample, DecisionSettings } from '@slipway/core/domain/scaling/scale-decision';
import type { WorkerSample } from '@slipway/core/domain/scaling/scaler';
import { ASSUMED_TIMES } from '@slipway/core/domain/scaling/traffic';
import fc from 'fast-check';

const MACHINES = ['m0', 'm1', 'm2', 'm3'];
export const L4 = 'NVIDIA L4';
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
export const seen = fc
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
