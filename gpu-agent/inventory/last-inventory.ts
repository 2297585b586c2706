/**
 * The machine as the last run of the agent reported it. A start whose inventory takes long reports it again, so that
 * the lease does not end meanwhile; then it reports what there is.
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MachineContainers } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { MachineGpu } from './machine-gpu.ts';

/** What takes time to find out. */
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

/** Keeps an inventory for the next run. Never rejects: without it a slow start of that run costs it the lease. */
export async function keepInventory(folder: string, inventory: Inventory): Promise<void> {
  const path = join(folder, 'inventory.json');
  try {
    await writeFile(`${path}.new`, JSON.stringify(inventory), { mode: 0o600 });
    await rename(`${path}.new`, path);
  } catch {
    // On a full disk.
  }
}
