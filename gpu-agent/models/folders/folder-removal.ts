/** Removes models from the store, while an agent may use it. The agent notices soon after. */
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Random } from '@slipway/kit/time/clock';
import { ModelFolder } from '../model-folder.ts';
import type { ModelKey } from '../model-name.ts';
import { keyOfName, treeName } from '../model-name.ts';
import { sizeOf } from '../model-record.ts';
import { ModelUses } from '../model-uses.ts';
import { FolderError } from './folder-listing.ts';

/** Prefix of folders that the next agent or command removes at its start. */
const TRASH = '.trash-';
const ID_LETTERS = 12;

/** A model that was removed. */
interface RemovedModel {
  key: ModelKey;
  sizeBytes: number;
}

/**
 * Removes all models of a repository, or those of one commit, whose beginning is enough. Throws FolderError, before
 * anything is removed, if there is none, if a worker uses one, or if one is not complete: it may be on its way.
 */
export async function removeModels(
  store: string,
  { repository, commit }: { repository: string; commit: string },
  random: Random,
): Promise<RemovedModel[]> {
  const keys = (await readdir(store)).flatMap((name) => keyOfName(name) ?? []);
  const found = keys.filter((key) => key.repository === repository && key.commit.startsWith(commit));
  const what = commit === '' ? repository : `${repository} at ${commit}`;
  if (found.length === 0) throw new FolderError(`${store} has no model ${what}.`);
  const uses = new ModelUses(store);
  await uses.open();
  const models = await Promise.all(
    found.map(async (key) => ({ key, record: (await new ModelFolder(store, key).read())?.record })),
  );
  for (const { key, record } of models) {
    if (uses.names.has(treeName(key)))
      throw new FolderError(`${key.repository} is in use by a worker: end the workers of its endpoints first.`);
    if (!record)
      throw new FolderError(
        `${key.repository} is not complete: a download may be in progress. ` +
          'Partial downloads are deleted after a day without progress.',
      );
  }
  for (const { key } of models) {
    const trash = join(store, `${TRASH}${random.id(ID_LETTERS)}`);
    await rename(join(store, treeName(key)), trash);
    await rm(trash, { recursive: true, force: true });
  }
  return models.map(({ key, record }) => ({ key, sizeBytes: sizeOf(record!.files) }));
}
