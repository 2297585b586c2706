/**
 * Sizes of resources without a GPU in REST v2: a flavour and a number of processors. The memory follows from the
 * flavour.
 */
import { instanceIdsOf, POD_FLAVORS, sizeOf } from '../../resources/cpu-sizes.ts';
import { against } from '../rejections.ts';

/** Returns the size as the contract has it. 400: there is no such flavour, or the processors are no power of two. */
export function instanceIdOf({ id, vcpuCount }: { id: string; vcpuCount: number }): string {
  if (!(POD_FLAVORS as readonly string[]).includes(id))
    throw against(`cpu: ${JSON.stringify(id)} is no flavour; there are ${POD_FLAVORS.join(', ')}.`);
  if (!Number.isInteger(Math.log2(vcpuCount)))
    throw against(`cpu: vcpuCount is ${vcpuCount}, but must be a power of two.`);
  return instanceIdsOf({ cpuFlavorIds: [id], vcpuCount })![0]!;
}

/** Returns the size for a response. */
export function presentCpu(instanceId: string): { id: string; vcpuCount: number; memory: number } {
  const { flavor, vcpuCount, memoryInGb } = sizeOf(instanceId)!;
  return { id: flavor, vcpuCount, memory: memoryInGb };
}
