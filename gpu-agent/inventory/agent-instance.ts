/**
 * Name of this run of the agent, and of the run that used the data folder before. While the machine's lease lasts, core
 * only accepts a successor: an agent on a copy of the folder must not take the machine from the running agent. A run on
 * another kernel is no successor, even while the other agent's session is interrupted: the folder was copied from
 * another machine, or this machine has been rebooted and no workload is left.
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Random } from '@slipway/kit/time/clock';

const LENGTH = 16;

/** Fields of a hello about the run. */
export interface AgentInstance {
  instance: string;
  /** Empty if this is the first run. */
  replaces: string;
}

/** Names the boot of this machine's kernel, also in containers. Systems other than Linux have none. */
const BOOT_ID = '/proc/sys/kernel/random/boot_id';

/**
 * Chooses a name and stores it in the folder, which must be locked by this agent. `bootIdFile`: names the boot of the
 * kernel; default: that of this machine.
 */
export async function takeInstance(folder: string, random: Random, bootIdFile = BOOT_ID): Promise<AgentInstance> {
  const read = async (file: string): Promise<string> => (await readFile(file, 'utf8').catch(() => '')).trim();
  const [instanceFile, bootFile] = [join(folder, 'instance'), join(folder, 'boot')];
  const [previous, previousBoot, boot] = [await read(instanceFile), await read(bootFile), await read(bootIdFile)];
  const instance = random.id(LENGTH);
  try {
    await store(bootFile, boot);
    await store(instanceFile, instance);
  } catch {
    // The disk may be full. The next run then waits for the end of the lease, which costs it some seconds.
  }
  // A run of an earlier release recorded no boot.
  const isSameKernel = previousBoot === '' || boot === '' || previousBoot === boot;
  return { instance, replaces: isSameKernel && /^[\w-]{1,64}$/.test(previous) ? previous : '' };
}

async function store(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, `${text}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}
