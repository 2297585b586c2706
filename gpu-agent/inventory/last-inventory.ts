/**
 * Inventory of the machine as the last run of the agent reported it. If the inventory takes long at a start, the agent
 * reports the last one, so that the lease does not end. Afterwards it reports the actual one.
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MachineContainers } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { MachineGpu } from './machine-gpu.ts';

/** The parts of an inventory that take time to find out. */
export interface Inventory {
  gpus: readonly MachineGpu[];
  cudaVersion: string;
  containers: MachineContainers;
}

/** Returns the inventory of the last run; `undefined` if there is none that can be read. */
export async function readLastInventory(folder: string): Promise<Inventory | undefined> {
  try {
    return JSON.parse(await readFile(join(folder, 'inventory.json'), 'utf8')) as Inventory;
  } catch {
    return undefined;
  }
}

/** Stores an inventory for the next run. Never rejects: without it, a slow start of the next run costs it the lease. */
export async function storeInventory(folder: string, inventory: Inventory): Promise<void> {
  const path = join(folder, 'inventory.json');
  try {
    await writeFile(`${path}.new`, JSON.stringify(inventory), { mode: 0o600 });
    await rename(`${path}.new`, path);
  } catch {
    // The disk may be full.
  }
}
