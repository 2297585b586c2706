/** Fills the database of `npm start` with a backup, before core starts on it. */
import { extname, join } from 'node:path';
import { NODE_ENVIRONMENT, NODE_FLAGS } from '@slipway/kit/host/node-settings';
import { UsageError } from './options.ts';
import type { DataDir } from './postgres/data-dir.ts';
import { runProgram } from './processes/run-program.ts';
import { secretFiles } from './secret-files.ts';
import type { Secrets } from './secrets.ts';

interface RestoreOptions {
  /** Absolute path of the backup, or its address in S3. */
  file: string;
  databaseUrl: string;
  data: DataDir;
  secrets: Secrets;
  root: string;
  env: Readonly<Record<string, string | undefined>>;
  report(line: string): void;
  signal: AbortSignal;
}

/** Restores the backup. Throws UsageError if it cannot be restored here; then nothing was changed. */
export async function restoreBackup(options: RestoreOptions): Promise<void> {
  const { file, databaseUrl, data, secrets, root, env, report, signal } = options;
  const program = join(root, `core/backup-main${extname(import.meta.filename)}`);
  const files = secretFiles(data.secretsDir, {
    SLIPWAY_DATABASE_URL: databaseUrl,
    SLIPWAY_SECRET_KEY: secrets.sealKey,
  });
  const { code, output } = await runProgram(process.execPath, [...NODE_FLAGS, program, 'restore', file], {
    env: { ...NODE_ENVIRONMENT, ...env, ...files } as NodeJS.ProcessEnv,
    signal,
    onLine: report,
  });
  if (code === 0) return;
  const reason = output.at(-1)?.replace(/^error: /, '') ?? `code ${code}`;
  throw new UsageError(
    `${file} was not restored: ${reason}\n` +
      'A backup goes into a new data folder (--data-dir) with a copy of the secrets.json that it was made with.',
  );
}
