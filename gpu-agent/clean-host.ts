/**
 * Removes from a host what an agent that is gone has left: networks, firewall rules and the address of containers,
 * views of volumes. Its data folder stays. No agent may start during this, because its rules would be removed.
 */

import { isFolderLocked, isNameLocked, lockFolder } from '@slipway/kit/host/folder-lock';
import { runsAsRoot } from '@slipway/kit/host/host-user';
import type { Clock } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import { MACHINE_LOCK } from './data-folder.ts';
import { MACHINE_LABEL } from './executors/container/container-plan.ts';
import type { Engine } from './executors/container/engine.ts';
import { removeContainer } from './executors/container/engine-calls.ts';
import { HostFirewall } from './executors/container/host-firewall.ts';
import { hostPrograms } from './executors/container/host-programs.ts';
import { interfacePrefix, WorkloadNetworks } from './executors/container/workload-networks.ts';
import { HostViews } from './executors/process/host-views.ts';

/** Lock of a data folder while its host is cleaned. */
const CLEAN_LOCK = 'clean';
/** Longest wait for a cleaner, and the interval of checks, in milliseconds. */
const CLEAN_MS_MAX = 30_000;
const POLL_MS = 50;

/** The agent whose host is cleaned. */
interface CleanTask {
  dataDir: string;
  volumesDir: string;
  machineId: string;
  /** `undefined` if the machine has no engine. */
  engine: Engine | undefined;
  /** If true, remaining containers are ended, including pods. Otherwise nothing is removed while there is one. */
  endsContainers: boolean;
}

/**
 * Cleans the host. Resolves to the result. Rejects if the engine does not answer, and with FolderLockedError if another
 * process is cleaning already.
 */
export async function cleanHost(task: CleanTask): Promise<'cleaned' | 'agent runs' | 'containers run'> {
  const unlock = await lockFolder(task.dataDir, CLEAN_LOCK);
  try {
    if (await isFolderLocked(task.dataDir, 'agent')) return 'agent runs';
    // The folder is a copy of that of the agent that runs.
    if (await isNameLocked(task.machineId, MACHINE_LOCK)) return 'agent runs';
    return await clean(task);
  } finally {
    unlock();
  }
}

/**
 * Resolves when no cleaner runs for the agent of a folder. The caller holds the folder's agent lock, so no new cleaner
 * starts. Rejects if that takes too long.
 */
export async function untilCleaned(dataDir: string, clock: Clock): Promise<void> {
  const untilMs = clock.monotonicMs() + CLEAN_MS_MAX;
  while (await isFolderLocked(dataDir, CLEAN_LOCK)) {
    if (clock.monotonicMs() > untilMs)
      throw new Error(`what an agent in ${dataDir} left on this host is being removed, and that does not finish`);
    await delay(clock, POLL_MS);
  }
}

async function clean({
  volumesDir,
  machineId,
  engine,
  endsContainers,
}: CleanTask): Promise<'cleaned' | 'containers run'> {
  if (engine) {
    const left = await engine.docker.listContainers({
      all: true,
      filters: { label: [`${MACHINE_LABEL}=${machineId}`] },
    });
    if (left.length > 0 && !endsContainers) return 'containers run';
    await Promise.all(left.map(({ Id }) => removeContainer(engine.docker.getContainer(Id))));
    const firewall = new HostFirewall(interfacePrefix(machineId), hostPrograms);
    const openBridge = (): Promise<number> => Promise.reject(new Error('no bridge is listening'));
    await new WorkloadNetworks({ machineId, firewall, programs: hostPrograms, asRoot: runsAsRoot(), openBridge }).clear(
      engine,
    );
  }
  const views = new HostViews(volumesDir, hostPrograms);
  await views.clear();
  await views.end();
  return 'cleaned';
}
