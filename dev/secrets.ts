/**
 * The keys and passwords of this installation, made at the first start and kept in one file that only its owner can
 * read.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from './options.ts';
import type { DataDir } from './postgres/data-dir.ts';

/** Secrets that must survive a restart. */
export interface Secrets {
  /** The operator's key, which core accepts for the setup. */
  rootKey: string;
  /** Key that encrypts secrets in the database: 64 hex digits. */
  sealKey: string;
  /** Password of the embedded PostgreSQL. */
  databasePassword: string;
  /** Key of the local account. Absent until it is created. */
  apiKey?: string;
  /** Key of this machine's agent. Absent until it is created. */
  agentKey?: string;
  /** Id of the agent's key. Absent in files of earlier releases. */
  agentKeyId?: string;
}

/**
 * Reads the secrets, or makes new ones in an empty data folder. Throws UsageError if the file is damaged, or missing
 * beside a database.
 */
export function loadSecrets(data: DataDir): Secrets {
  if (existsSync(data.secretsFile)) return parseSecrets(data.secretsFile);
  if (existsSync(join(data.postgresDir, 'PG_VERSION'))) {
    throw new UsageError(
      `${data.secretsFile} is missing, so the database in ${data.postgresDir} cannot be opened.\n` +
        `Put the file back, or delete ${data.dir} to start anew without the old jobs.`,
    );
  }
  const secrets: Secrets = {
    rootKey: `root_${randomBytes(24).toString('hex')}`,
    sealKey: randomBytes(32).toString('hex'),
    databasePassword: randomBytes(24).toString('hex'),
  };
  saveSecrets(data, secrets);
  return secrets;
}

/** Writes the secrets so that a crash leaves either the old or the new file. */
export function saveSecrets(data: DataDir, secrets: Secrets): void {
  const part = `${data.secretsFile}.part`;
  writeFileSync(part, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600, flush: true });
  renameSync(part, data.secretsFile);
}

function parseSecrets(file: string): Secrets {
  try {
    const secrets = JSON.parse(readFileSync(file, 'utf8')) as Partial<Secrets>;
    if (secrets.rootKey && secrets.sealKey && secrets.databasePassword) return secrets as Secrets;
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as Error).message}`);
  }
  throw new UsageError(`${file} is damaged: a key is missing in it.`);
}
