/**
 * Brings models from folders into the store, while an agent may use it: everything is copied and verified in a folder
 * of its own, which appears in one step. The agent finds it soon after.
 */
import { createHash } from 'node:crypto';
import { mkdir, readdir, rename, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Random } from '@slipway/kit/time/clock';
import { sizeText } from '../../images/pull-progress.ts';
import { beginHash, hashFile } from '../file-hash.ts';
import { ModelFolder } from '../model-folder.ts';
import { treeName } from '../model-name.ts';
import type { ModelFile } from '../model-record.ts';
import { filesFault, sizeOf } from '../model-record.ts';
import type { FoundFile, FoundModel } from './folder-listing.ts';
import { FolderError } from './folder-listing.ts';

/** Prefix of folders that are being filled. */
const PART = '.import-';
/** Prefix of folders that the next agent or command removes at its start. */
const TRASH = '.trash-';
const ID_LETTERS = 12;

/** Removes what imports that were interrupted left. Only one import may run. */
export async function dropParts(store: string): Promise<void> {
  await mkdir(store, { recursive: true });
  for (const name of await readdir(store))
    if (name.startsWith(PART)) await rm(join(store, name), { recursive: true, force: true });
}

/**
 * Imports one model. Returns false if the store has it. `limitBytes`: most that models may take. Throws FolderError;
 * the store is then as it was.
 */
export async function importModel(
  store: string,
  found: FoundModel,
  { limitBytes, random }: { limitBytes: number; random: Random },
): Promise<boolean> {
  const { repository, commit, revisions } = found;
  const key = { repository, commit, accountNumber: 0 };
  const folder = new ModelFolder(store, key);
  const current = await folder.read();
  if (current && revisions.every((revision) => current.record.revisions.includes(revision))) return false;
  if (current) {
    // Workers may use it: its folder stays, and only its names change.
    const all = new Set([...current.record.revisions, ...revisions]);
    await folder.rename({ ...current.record, revisions: [...all], imported: true });
    return true;
  }
  await checkSpace(store, found, limitBytes);
  const name = `${PART}${random.id(ID_LETTERS)}`;
  const part = new ModelFolder(store, key, name);
  try {
    await part.make();
    const files: ModelFile[] = [];
    for (const file of found.files) files.push(await copy(part, file));
    const fault = filesFault(files);
    if (fault !== undefined) throw new FolderError(`${repository} cannot be stored as a model: ${fault}.`);
    await part.finish({ ...key, revisions, files, imported: true });
    await show(store, name, treeName(key), random);
    return true;
  } finally {
    await rm(part.path, { recursive: true, force: true });
  }
}

async function checkSpace(store: string, { repository, files }: FoundModel, limitBytes: number): Promise<void> {
  const bytes = sizeOf(files.map(({ path, source, sizeBytes }) => ({ path, digest: source, sizeBytes })));
  const { bavail, bsize } = await statfs(store);
  if (bytes > limitBytes)
    throw new FolderError(
      `${repository} has ${sizeText(bytes)}, and models may take ${sizeText(limitBytes)} here (--model-disk).`,
    );
  if (bytes > bavail * bsize)
    throw new FolderError(`${repository} has ${sizeText(bytes)}, and ${store} has ${sizeText(bavail * bsize)} left.`);
}

/** Copies a file and verifies the copy, by the digest of its cache if there is one. */
async function copy(part: ModelFolder, { path, source, sizeBytes, digest }: FoundFile): Promise<ModelFile> {
  const known = digest ?? (await sha256Of(source));
  const file = { path, sizeBytes, digest: known };
  if ((await part.bytesOf(known, true)) === sizeBytes) return file;
  await part.copyIn(known, source);
  const hash = beginHash(file);
  await hashFile(part.incomplete(known), hash);
  if (hash.digest('hex') !== known)
    throw new FolderError(`${path} differs from its digest (${source}): download it again.`);
  await part.complete(known);
  return file;
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await hashFile(path, hash);
  return hash.digest('hex');
}

/** Moves a complete folder to its name. Replaces an incomplete one. */
async function show(store: string, part: string, name: string, random: Random): Promise<void> {
  const old = join(store, `${TRASH}${random.id(ID_LETTERS)}`);
  await rename(join(store, name), old).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  await rename(join(store, part), join(store, name));
  await rm(old, { recursive: true, force: true });
}
