/** `slipway backup` and `slipway restore`: copies of a whole installation, by the program of core's package. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CORE_ENVIRONMENT } from '@slipway/kit/host/node-settings';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { coreEnv } from '../config.ts';
import { UsageError } from '../failures.ts';
import { runPart } from './run-part.ts';

interface SecretOptions {
  databaseUrlFile?: string | undefined;
  secretKeyFile?: string | undefined;
  nextSecretKeyFile?: string | undefined;
}

interface BackupOptions extends Pick<SecretOptions, 'databaseUrlFile'> {
  to: string;
  dataDir: string;
}

interface RestoreOptions extends SecretOptions {
  from: string;
  check?: true;
}

/** Operations of core's backup program. */
type Action = 'backup' | 'restore' | 'check';

const DATA_DIR = '.slipway';
/** File with the URL of a running `npm start`'s database, below its data folder. */
const LOCAL_URL = join('handed-over', 'database-url');

/** Adds the commands. */
export function addBackup(program: Command, cli: Cli): void {
  addCommand(program, {
    usage: 'backup',
    description:
      'Back up everything that core keeps: a consistent copy of its database, while core keeps running. Beside a ' +
      'running "npm start" it needs no options. The file is as secret as the database.',
    examples: [
      'backup --to slipway.backup',
      'backup --database-url-file database-url --to /var/backups/slipway.backup',
      'backup --to s3://vault/slipway.backup',
      'backup --to - | ssh vault "cat > slipway.backup"',
    ],
  })
    .requiredOption(
      '--to <file>',
      'new file, s3://BUCKET/NAME with keys in the AWS_ variables, or - for stdout; never overwrites what is there',
    )
    .option('--database-url-file <file>', 'file with the postgres:// URL of the database')
    .option('--data-dir <folder>', 'data folder of a running npm start', DATA_DIR)
    .action(({ to, ...options }: BackupOptions) => run(cli, 'backup', to, { databaseUrlFile: urlFile(cli, options) }));
  addCommand(program, {
    usage: 'restore',
    description:
      'Restore a backup into an empty database, all of it or nothing. Then start core on it, with the same secret ' +
      'key. Says which jobs run again. For the database of "npm start": npm start -- --restore FILE.',
    examples: [
      'restore --from slipway.backup --database-url-file new-database-url --secret-key-file secret-key',
      'restore --from slipway.backup --secret-key-file secret-key --check',
    ],
  })
    .requiredOption('--from <file>', 'backup, s3://BUCKET/NAME with keys in the AWS_ variables, or - for stdin')
    .option('--database-url-file <file>', 'file with the postgres:// URL of the empty database')
    .option('--secret-key-file <file>', "file with core's secret key")
    .option('--next-secret-key-file <file>', 'another such key, if the backup was made while the two were exchanged')
    .option('--check', 'read all of it and compare the secret key; touch no database')
    .action(({ from, check, ...options }: RestoreOptions) => run(cli, check ? 'check' : 'restore', from, options));
}

async function run(cli: Cli, action: Action, file: string, files: SecretOptions): Promise<void> {
  const { workingDir } = cli.config;
  await runPart(cli, {
    module: '@slipway/core/backup-main',
    args: [action, isFile(file) ? resolve(workingDir, file) : file, ...(cli.output.json ? ['--json'] : [])],
    env: { ...CORE_ENVIRONMENT, ...coreEnv(files, workingDir) },
    isCommand: true,
  });
}

/** Returns true for a path, false for a stream and an address of S3. */
function isFile(text: string): boolean {
  return text !== '-' && !text.startsWith('s3://');
}

/**
 * Returns the file with the URL of the database, from the option or from a running `npm start`. `undefined` if
 * variables name the database.
 */
function urlFile({ config }: Cli, { databaseUrlFile, dataDir }: Omit<BackupOptions, 'to'>): string | undefined {
  const isNamed = ['SLIPWAY_DATABASE_URL', 'SLIPWAY_DATABASE_URL_FILE'].some((name) => config.env[name]);
  if (databaseUrlFile !== undefined || isNamed) return databaseUrlFile;
  const folder = resolve(config.workingDir, dataDir);
  const file = join(folder, LOCAL_URL);
  if (existsSync(file)) return file;
  throw new UsageError(
    `Name the database: --database-url-file FILE, or --data-dir of a running npm start (there is none in ${folder}).`,
  );
}
