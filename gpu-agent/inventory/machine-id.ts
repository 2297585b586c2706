/** This machine's id: chosen once, kept in the agent's data folder, the same for ever after. */
import { open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Random } from '@slipway/kit/time/clock';

/** 12 lowercase letters and digits (machine.proto). */
const ID_LENGTH = 12;

/**
 * The id that was kept is none any more. Another must not take its place by itself: this would be another machine then,
 * which knows nothing of the containers that the former one left on its GPUs.
 */
export class MachineIdError extends Error {}

/** Reads the id, or chooses one when there is none yet. MachineIdError: what is there is none. */
export async function machineId(folder: string, random: Random): Promise<string> {
  const path = join(folder, 'machine-id');
  const known = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (known === undefined) return choose(path, random);
  if (!/^[a-z0-9]{12}\s*$/.test(known)) {
    throw new MachineIdError(
      `${path} does not hold the id of a machine, which has 12 lowercase letters and digits. Put the id back that \`slipway machines\` ` +
        'shows for this machine. Or remove its containers and this file: then it joins as another machine, without the pods of the former one.',
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
