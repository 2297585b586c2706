/**
 * Implements `slipway models import`: brings models from a folder into the store of this machine's agent, which may
 * run.
 *
 *   node gpu-agent/import-models.ts FOLDER [--repo ORG/NAME] [--revision REVISION]
 */
import { mkdir, stat, statfs } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { FolderLockedError, lockFolder } from '@slipway/kit/host/folder-lock';
import { createLogger } from '@slipway/kit/log/logger';
import { systemRandom } from '@slipway/kit/time/clock';
import { readImportConfig } from './config.ts';
import { dropParts, importModel } from './models/folder-import.ts';
import { FolderError, findModels } from './models/folder-listing.ts';

const GB = 1000 ** 3;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { repo: { type: 'string' }, revision: { type: 'string' } },
});
const { modelDir, modelDiskGb, logLevel } = readImportConfig();
const logger = createLogger('agent', logLevel);

try {
  await mkdir(modelDir, { recursive: true });
  await checkUser(modelDir);
  const unlock = await lockFolder(modelDir, 'import');
  await dropParts(modelDir);
  const { blocks, bsize } = await statfs(modelDir);
  const limitBytes = modelDiskGb === undefined ? (blocks * bsize) / 2 : modelDiskGb * GB;
  const options = { repository: values.repo, revision: values.revision };
  for (const found of await findModels(positionals[0] ?? '', options)) {
    const isNew = await importModel(modelDir, found, { limitBytes, random: systemRandom });
    const { repository, commit, revisions } = found;
    logger.info({ repository, commit, revisions }, isNew ? 'model imported' : 'the machine has this model');
  }
  unlock();
} catch (error) {
  if (error instanceof FolderLockedError) fail(`Another import into ${modelDir} runs: wait until it is done.`);
  else if (error instanceof FolderError) fail(error.message);
  else fail(`The import into ${modelDir} failed: ${(error as Error).message}. What was complete before stays.`);
}

/** The agent must be able to remove what is imported. */
async function checkUser(folder: string): Promise<void> {
  const { uid } = await stat(folder);
  if (process.getuid && uid !== process.getuid())
    throw new FolderError(`${folder} belongs to user ${uid}: import as that user, as whom the agent runs.`);
}

function fail(text: string): void {
  process.stderr.write(`${text}\n`);
  process.exitCode = 1;
}
