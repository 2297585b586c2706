/** This machine's id: chosen once, kept in the agent's data folder, the same for ever after. */
import { open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Random } from '../../core/runtime/clock.ts';

/** 12 lowercase letters and digits (machine.proto). */
const ID_LENGTH = 12;

/** Reads the id, or chooses one when there is none yet. */
export async function machineId(folder: string, random: Random): Promise<string> {
  const path = join(folder, 'machine-id');
  const known = (await readFile(path, 'utf8').catch(() => '')).trim();
  if (/^[a-z0-9]{12}$/.test(known)) return known;
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
