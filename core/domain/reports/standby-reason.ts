/** Why workers of an endpoint keep their GPU memory on standby although its settings allow an offload. Pure. */

import { onMachines } from '../scaling/placement.ts';
import { lastingRefusal } from '../scaling/placement-filters.ts';
import type { PlacementMachine, PlacementRequest } from '../scaling/placement-machine.ts';
import type { PlacementRefusal } from '../scaling/placement-refusal.ts';

/** Reason of a machine whose agent reports nothing about offload. */
export const NO_OFFLOAD_REPORT = 'its agent is older than this feature';

/**
 * Returns why no machine that can take these workers can offload them. `undefined`: one can, or none can take them.
 * `faults`: why machines cannot offload, by id.
 */
export function standbyReason(
  machines: readonly PlacementMachine[],
  request: PlacementRequest,
  faults: ReadonlyMap<string, string>,
): PlacementRefusal | undefined {
  const needed = onMachines(machines, request);
  if (needed.gpuCount === 0) return undefined;
  const suitable = machines.filter((machine) => !machine.gone && lastingRefusal(machine, needed) === undefined);
  if (suitable.length === 0 || suitable.some(({ offload }) => offload)) return undefined;
  const faultOf = ({ id }: PlacementMachine): string => faults.get(id) ?? NO_OFFLOAD_REPORT;
  const text = 'no machine can move the GPU memory of its workers to host memory';
  return {
    refusal: `${text}: ${[...new Set(suitable.map(faultOf))].join('; ')}`,
    refusalByMachine: `${text}: ${suitable.map((machine) => `${machine.name}: ${faultOf(machine)}`).join('; ')}`,
  };
}
