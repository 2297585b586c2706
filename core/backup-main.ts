/**
 * Entry of `slipway backup` and `slipway restore`: `backup FILE`, `restore FILE` or `check FILE`, with core's settings
 * for database and secret key. `-` is stdin or stdout, `s3://BUCKET/NAME` an object of S3. Lines for people go to
 * stderr. With `--json` one document with the facts goes to stdout.
 */
import { createReadStream } from 'node:fs';
import { constants } from 'node:os';
import type { Readable } from 'node:stream';
import { ConfigError } from '@slipway/kit/host/env';
import { createLogger } from '@slipway/kit/log/logger';
import { backgroundClock, systemClock, systemRandom } from '@slipway/kit/time/clock';
import { backUp, backUpTo, backUpToObject, FileExistsError } from './backup/back-up.ts';
import { BackupFormatError } from './backup/backup-format.ts';
import { againLines, progressLines } from './backup/backup-report.ts';
import { checkBackup, restore } from './backup/restore.ts';
import { S3Object } from './backup/s3-object.ts';
import { S3Error } from './backup/s3-sink.ts';
import { readBackupConfig, sealerOf } from './config.ts';
import { CORE_VERSION } from './reports/core-version.ts';
import type { DatabaseFacts } from './store/backup/backup-contents.ts';
import { NothingToBackUpError } from './store/backup/backup-contents.ts';
import { RestoreError } from './store/backup/restore-contents.ts';

const EXIT_REFUSED = 1;
const EXIT_USAGE = 2;
/** Errors whose message says what to do. */
const EXPECTED = [ConfigError, FileExistsError, BackupFormatError, NothingToBackUpError, RestoreError, S3Error];

const [action, file = '', ...options] = process.argv.slice(2);
const logger = createLogger('backup', 'silent');
const write = (line: string): void => {
  process.stderr.write(`${line}\n`);
};
const onProgress = progressLines(systemClock, write);

/** Longest time in milliseconds in which an interrupted backup removes what it has written. */
const REMOVAL_MS_MAX = 60_000;
const interrupted = new AbortController();

/** Returns a signal that aborts at SIGINT or SIGTERM, of which Ctrl-C sends several. */
function whenInterrupted(): AbortSignal {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      if (interrupted.signal.aborted) return;
      write('Interrupted: what was written is being removed.');
      process.exitCode = 128 + constants.signals[signal];
      interrupted.abort();
      backgroundClock.after(REMOVAL_MS_MAX, () => process.exit());
    });
  return interrupted.signal;
}

async function run(): Promise<DatabaseFacts> {
  if (action !== 'backup' && action !== 'restore' && action !== 'check')
    throw new Error('backup FILE, restore FILE or check FILE');
  const config = readBackupConfig(action, file);
  const { databaseUrl, s3 } = config;
  const object = s3 && new S3Object(s3, { clock: systemClock, random: systemRandom });
  if (action === 'backup') {
    const parts = { databaseUrl, release: CORE_VERSION, logger, onProgress, whenInterrupted };
    if (object) return await backUpToObject(object, parts);
    return await (file === '-' ? backUpTo(process.stdout, parts) : backUp(file, parts));
  }
  const source = object ? await object.read() : streamOf(file);
  return await (action === 'check'
    ? checkBackup(source, { sealer: sealerOf(config), onProgress })
    : restore(source, databaseUrl, { sealer: sealerOf(config), logger, onProgress }));
}

function streamOf(path: string): Readable {
  return path === '-' ? process.stdin : createReadStream(path);
}

const DONE: Readonly<Record<string, string>> = {
  backup: 'The backup is complete. It opens with the secret key alone: keep the two apart.',
  check: 'The backup is complete, and the secret key is its own.',
  restore: 'Restored. Start core on this database with the same secret key.',
};

try {
  const facts = await run();
  for (const line of [...againLines(facts), DONE[action ?? ''] ?? '']) write(line);
  if (options.includes('--json') && file !== '-') process.stdout.write(`${JSON.stringify(facts, null, 2)}\n`);
} catch (error) {
  if (!interrupted.signal.aborted) {
    const isExpected = EXPECTED.some((kind) => error instanceof kind);
    const { message, code } = error as NodeJS.ErrnoException;
    write(`error: ${isExpected ? message : `${message || code}. Nothing was changed.`}`);
    process.exitCode = error instanceof ConfigError ? EXIT_USAGE : EXIT_REFUSED;
  }
}
