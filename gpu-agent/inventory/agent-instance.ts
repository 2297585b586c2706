/**
 * Name of this run of the agent, and of the run that used the data folder before. While the machine's lease lasts, core
 * only accepts a successor: an agent on a copy of the folder must not take the machine from the running agent.
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

/** Chooses a name and stores it in the folder, which must be locked by this agent. */
export async function takeInstance(folder: string, random: Random): Promise<AgentInstance> {
  const path = join(folder, 'instance');
  const replaces = (await readFile(path, 'utf8').catch(() => '')).trim();
  const instance = random.id(LENGTH);
  try {
    await writeFile(`${path}.new`, `${instance}\n`, { mode: 0o600 });
    await rename(`${path}.new`, path);
  } catch {
    // The disk may be full. The next run then waits for the end of the lease, which costs it some seconds.
  }
  return { instance, replaces: /^[\w-]{1,64}$/.test(replaces) ? replaces : '' };
}
