/** Lists the locations of all machines and of the account's network volumes. */
import { gpuTypeOf } from '../domain/machines/gpu-facts.ts';
import { ANY_HOSTED, isCountryCode } from '../domain/machines/location.ts';
import type { CatalogContext } from './catalog-context.ts';
import type { CpuCapacity } from './cpu-capacity.ts';
import { cpuCapacity } from './cpu-capacity.ts';
import { isFree } from './is-free.ts';

/** A location, with the GPUs of the connected machines there. */
interface DataCenterEntry {
  id: string;
  /** Empty: none. */
  countryCode: string;
  gpus: { gpuTypeId: string; total: number; free: number }[];
  /** `undefined` if none of its machines is connected. */
  cpu: CpuCapacity | undefined;
}

/** All locations, and the capacity without a GPU of all machines. */
interface DataCenterList {
  dataCenters: DataCenterEntry[];
  cpu: CpuCapacity | undefined;
}

/**
 * Returns the locations, sorted by id. Machines that were not seen for a day are left out, as for placement.
 * `accountId`: account whose network volumes are included; empty: all, for the operator; `undefined`: none.
 */
export async function listDataCenters(
  { catalog, machines }: Omit<CatalogContext, 'prices'>,
  accountId: string | undefined,
): Promise<DataCenterList> {
  const entries = new Map<string, DataCenterEntry>();
  const entryOf = (id: string): DataCenterEntry => {
    const entry = entries.get(id) ?? { id, countryCode: '', gpus: [], cpu: undefined };
    entries.set(id, entry);
    return entry;
  };
  if (accountId !== undefined) for (const id of await catalog.volumeDataCenters(accountId)) entryOf(id);
  const view = await machines.view();
  for (const machine of view) {
    const countryCode = machine.locations.find(isCountryCode) ?? '';
    for (const id of machine.locations.filter((location) => !isCountryCode(location) && location !== ANY_HOSTED)) {
      const entry = entryOf(id);
      entry.countryCode ||= countryCode;
      for (const gpu of machine.connected ? machine.gpus : []) count(entry, gpuTypeOf(gpu), isFree(machine, gpu));
    }
  }
  for (const entry of entries.values())
    entry.cpu = cpuCapacity(view.filter(({ locations }) => locations.includes(entry.id)));
  return { dataCenters: [...entries.values()].sort((a, b) => (a.id < b.id ? -1 : 1)), cpu: cpuCapacity(view) };
}

function count(entry: DataCenterEntry, gpuTypeId: string, free: boolean): void {
  const found = entry.gpus.find((gpu) => gpu.gpuTypeId === gpuTypeId);
  const gpu = found ?? { gpuTypeId, total: 0, free: 0 };
  if (!found) entry.gpus.push(gpu);
  gpu.total += 1;
  gpu.free += free ? 1 : 0;
}
