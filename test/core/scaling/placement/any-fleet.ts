/** Arbitrary fleets and requests for properties of placement. */

import type { PlacementMachine, PlacementRequest } from '@slipway/core/domain/scaling/placement-machine';
import fc from 'fast-check';

export const TYPES = ['NVIDIA L4', 'NVIDIA A40', 'NVIDIA RTX A5000', 'NVIDIA GeForce RTX 4090'] as const;

const gpus = fc.array(
  fc.record({
    name: fc.constantFrom(...TYPES),
    unhealthy: fc.constantFrom('', '', '', 'broken'),
    used: fc.boolean(),
    standby: fc.constantFrom(false, false, true),
    migProfile: fc.constantFrom('', '', '', '1g.6gb'),
  }),
  { maxLength: 6 },
);
const machine = fc.record({
  connected: fc.constantFrom(true, true, true, false),
  cordoned: fc.constantFrom(false, false, false, true),
  gpus,
  siblings: fc.nat(3),
  hasImage: fc.boolean(),
  locations: fc.constantFrom([], ['CZ']),
  crashes: fc.option(
    fc.record({
      failures: fc.integer({ min: 1, max: 3 }),
      retryMs: fc.constantFrom(0, 0, 1_000),
      workerId: fc.constant('crashed'),
      exitCode: fc.constant(1),
      comesLast: fc.constantFrom(true, true, false),
    }),
    { nil: undefined, freq: 3 },
  ),
});
export const fleet = fc.array(machine, { minLength: 1, maxLength: 5 }).map((all) =>
  all.map((each, index): PlacementMachine => {
    const id = `m${index}`;
    const cards = each.gpus.map((gpu, n) => ({ ...gpu, uuid: `${id}-${n}`, standby: gpu.standby && !gpu.used }));
    const standbys = cards
      .filter(({ standby }) => standby)
      .map(({ uuid }) => ({ workerId: `s-${uuid}`, gpuUuids: [uuid], instanceId: '', frozenMs: 1 }));
    const { crashes, ...rest } = each;
    return {
      ...rest,
      ...(crashes && { crashes }),
      id,
      name: id,
      gpus: cards,
      standbys,
      gone: false,
      cpuSlots: 4,
      cpuSlotsUsed: 0,
      cudaVersion: '',
      vcpus: 0,
      vcpusUsed: 0,
      memoryGb: 0,
      memoryGbUsed: 0,
      standbyMax: 4,
      runsCommands: true,
      engine: undefined,
      noEngineReason: '',
    };
  }),
);
export const request: fc.Arbitrary<PlacementRequest> = fc.record({
  gpuIds: fc.shuffledSubarray([...TYPES]),
  gpuCount: fc.integer({ min: 1, max: 3 }),
  locations: fc.constantFrom([], [], ['CZ']),
  imageName: fc.constant(''),
  instanceIds: fc.constant([]),
  allowedCudaVersions: fc.constant([]),
  dataCenterIds: fc.constant([]),
});
