/** This machine's id: chosen once and kept in the agent's data folder; it never changes. */
import { open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Random } from '@slipway/kit/time/clock';

/** Characters of an id: 12 lowercase letters and digits (machine.proto). */
const ID_LENGTH = 12;

/**
 * The stored id is invalid. It must not be replaced automatically: this would be another machine then, which knows
 * nothing of the containers that the previous one left on its GPUs.
 */
export class MachineIdError extends Error {}

/** Reads the id, or chooses one if there is none yet. Throws MachineIdError if the stored id is invalid. */
export async function machineId(folder: string, random: Random): Promise<string> {
  const path = join(folder, 'machine-id');
  const known = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (known === undefined) return choose(path, random);
  if (!/^[a-z0-9]{12}\s*$/.test(known)) {
    throw new MachineIdError(
      `${path} does not hold the id of a machine, which has 12 lowercase letters and digits. Put the id back that ` +
        '`slipway machines` shows for this machine. Or remove its containers and this file: then it joins as ' +
        'another machine, without the pods of the previous one.',
    );
  }
  return known.trim();
}

async function choose(path: string, random: Random): Promise<string> {
  const id = random.id(ID_LENGTH);
  const file = await open(`${path}.new`, 'w', 0o600);
  try {
    await file.writeFile(`${id}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
  return id;
}
