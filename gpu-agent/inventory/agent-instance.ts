/**
 * The name of this run of the agent, and of the run that had the data folder before. Core lets a successor in while the
 * machine's lease still lasts, and nobody else: an agent on a copy of the folder must not take the machine from the one
 * that runs.
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Random } from '@slipway/kit/time/clock';

const LENGTH = 16;

/** What a hello says about it. */
export interface AgentInstance {
  instance: string;
  /** Empty: the first. */
  replaces: string;
}

/** Chooses a name and keeps it in the folder, which must be this agent's alone. */
export async function takeInstance(folder: string, random: Random): Promise<AgentInstance> {
  const path = join(folder, 'instance');
  const replaces = (await readFile(path, 'utf8').catch(() => '')).trim();
  const instance = random.id(LENGTH);
  try {
    await writeFile(`${path}.new`, `${instance}\n`, { mode: 0o600 });
    await rename(`${path}.new`, path);
  } catch {
    // On a full disk: the next run then waits for the end of the lease, which costs it some seconds.
  }
  return { instance, replaces: /^[\w-]{1,64}$/.test(replaces) ? replaces : '' };
}
