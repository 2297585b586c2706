/**
 * Sizes of workers and pods without a GPU, named by the instance ids of the public API: flavor, vCPUs, GB
 * (docs/reference/management.md#cpu-sizes).
 */
import { invalid } from '../settings/fields.ts';

/** Resources that a size takes of a machine. */
export interface CpuSize {
  instanceId: string;
  /** For instance `cpu3c`. On self-hosted machines it is only a name. */
  flavor: string;
  vcpus: number;
  memoryGb: number;
}

const INSTANCE_ID = /^(cpu[0-9]{1,2}[a-z])-([1-9][0-9]{0,3})-([1-9][0-9]{0,4})$/;
const VCPUS_MAX = 1_024;
const SIZES_MAX = 100;
const BYTES_PER_MIB = 1_048_576;
const BYTES_PER_GB = 1_000_000_000;

/** Parses an instance id. Returns `undefined` if it is not valid. */
export function cpuSize(instanceId: string): CpuSize | undefined {
  const [, flavor, vcpus, memoryGb] = INSTANCE_ID.exec(instanceId) ?? [];
  if (flavor === undefined || Number(vcpus) > VCPUS_MAX) return undefined;
  return { instanceId, flavor, vcpus: Number(vcpus), memoryGb: Number(memoryGb) };
}

/** Throws INVALID_REQUEST if an id is not a size, or if sizes are given for a workload with GPUs. */
export function checkInstanceIds(instanceIds: readonly string[], computeType: string): void {
  if (instanceIds.length === 0) return;
  if (computeType !== 'CPU') throw invalid('instance_ids are sizes of CPU workers: they need compute_type CPU');
  if (instanceIds.length > SIZES_MAX)
    throw invalid(`instance_ids has ${instanceIds.length} entries, but may have ${SIZES_MAX}`);
  for (const id of instanceIds) {
    if (cpuSize(id)) continue;
    throw invalid(
      `instance_ids: ${JSON.stringify(id.slice(0, 64))} is not like cpu3c-2-4: a flavour, 1 to ` +
        `${VCPUS_MAX} processors, GB`,
    );
  }
}

/** Returns the memory of a machine in GB of 10^9 bytes, rounded down, as the system always takes a part of it. */
export function memoryGb(memoryMib: number): number {
  return Math.floor((memoryMib * BYTES_PER_MIB) / BYTES_PER_GB);
}
