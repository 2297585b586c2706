/**
 * Implements `slipway models import` and `remove`: brings models from a folder into the store of this machine's agent,
 * which may run, and removes models from it.
 *
 *   node gpu-agent/manage-models.ts import FOLDER [--repo ORG/NAME] [--revision REVISION]
 *   node gpu-agent/manage-models.ts remove ORG/NAME [--commit COMMIT]
 */
import { mkdir, stat, statfs } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { FolderLockedError, lockFolder } from '@slipway/kit/host/folder-lock';
import { createLogger } from '@slipway/kit/log/logger';
import { systemRandom } from '@slipway/kit/time/clock';
import { readImportConfig } from './config.ts';
import { dropParts, importModel } from './models/folders/folder-import.ts';
import { FolderError, findModels } from './models/folders/folder-listing.ts';
import { removeModels } from './models/folders/folder-removal.ts';

const GB = 1000 ** 3;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { repo: { type: 'string' }, revision: { type: 'string' }, commit: { type: 'string' } },
});
const { modelDir, modelDiskGb, logLevel } = readImportConfig();
const logger = createLogger('agent', logLevel);

const [action, what = ''] = positionals;
const [word, left] =
  action === 'remove' ? ['removal from', ''] : ['import into', ' Models that were complete before are kept.'];

try {
  await (action === 'remove' ? removeAll() : importAll());
} catch (error) {
  if (error instanceof FolderLockedError) fail(`An import into ${modelDir} runs: wait until it is done.`);
  else if (error instanceof FolderError) fail(error.message);
  else fail(`The ${word} ${modelDir} failed: ${(error as Error).message}.${left}`);
}

async function importAll(): Promise<void> {
  await mkdir(modelDir, { recursive: true });
  await checkUser(modelDir);
  const unlock = await lockFolder(modelDir, 'import');
  await dropParts(modelDir);
  const { blocks, bsize } = await statfs(modelDir);
  const limitBytes = modelDiskGb === undefined ? (blocks * bsize) / 2 : modelDiskGb * GB;
  const options = { repository: values.repo, revision: values.revision };
  for (const found of await findModels(what, options)) {
    const isNew = await importModel(modelDir, found, { limitBytes, random: systemRandom });
    const { repository, commit, revisions } = found;
    logger.info({ repository, commit, revisions }, isNew ? 'model imported' : 'the machine has this model');
  }
  unlock();
}

async function removeAll(): Promise<void> {
  await checkUser(modelDir);
  const unlock = await lockFolder(modelDir, 'import');
  const wanted = { repository: what, commit: values.commit ?? '' };
  for (const { key, sizeBytes } of await removeModels(modelDir, wanted, systemRandom))
    logger.info({ ...key, sizeBytes }, 'model removed');
  unlock();
}

/** Throws FolderError unless this user owns the folder: the agent must be able to remove what is imported. */
async function checkUser(folder: string): Promise<void> {
  const { uid } = await stat(folder).catch(({ code }: NodeJS.ErrnoException) => {
    throw new FolderError(`${folder} cannot be read (${code}): name the agent's folder with --data-dir.`);
  });
  if (process.getuid && uid !== process.getuid())
    throw new FolderError(`${folder} belongs to user ${uid}: run this as that user, as whom the agent runs.`);
}

function fail(text: string): void {
  process.stderr.write(`${text}\n`);
  process.exitCode = 1;
}
