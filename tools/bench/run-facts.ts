/** Facts that belong to the figures: the machine, the releases, the settings of the database, and the commit. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { PYTHONS } from '@slipway/test/helpers/system/handlers';
import postgres from 'postgres';
import { ROOT } from './child.ts';
import type { Database } from './database.ts';
import { machineText } from './figure.ts';
import { findRedis } from './find-redis.ts';
import type { FlushTime } from './flush-time.ts';
import { flushText, measureFlush } from './flush-time.ts';
import type { Options } from './options.ts';

/** Facts of a run, as printed and as JSON. */
export interface RunFacts {
  machine: string;
  /** Warning about other work on the machine at the start of the run; empty if there was none. */
  busy: string;
  /** Commit of this checkout. A `+` after it means that files have changed since. */
  commit: string;
  /** Versions by program. */
  versions: Record<string, string>;
  /** Settings of PostgreSQL, the same for all who use it. */
  settings: Record<string, string>;
  /** Measured before the rounds. A ratio to a queue that does not flush each write follows it. */
  flush: FlushTime;
  rounds: number;
  /** Length of a timed round, in seconds. */
  seconds: number;
}

const SETTINGS = [
  'fsync',
  'synchronous_commit',
  'full_page_writes',
  'shared_buffers',
  'max_wal_size',
  'min_wal_size',
  'wal_sync_method',
];

/** Returns the facts of this run. `busy`: see RunFacts. */
export async function runFacts(database: Database, { rounds, seconds }: Options, busy: string): Promise<RunFacts> {
  const sql = postgres(database.url, { max: 1 });
  const rows = await sql<{ name: string; setting: string }[]>`
    SELECT name, current_setting(name) AS setting FROM pg_settings WHERE name = ANY(${[...SETTINGS, 'server_version']})
      ORDER BY name`;
  await sql.end();
  const { server_version: postgresVersion = '', ...settings } = Object.fromEntries(
    rows.map(({ name, setting }) => [name, setting]),
  );
  const redis = findRedis();
  const versions = {
    Node: process.version,
    PostgreSQL: postgresVersion,
    ...(redis !== undefined && { Redis: redisVersion(redis) }),
    ...pythonVersions(),
  };
  const flush = await measureFlush();
  return { machine: machineText(), busy, commit: commitText(), versions, settings, flush, rounds, seconds };
}

/** Returns the facts as lines for people. */
export function factLines({ machine, busy, commit, versions, settings, flush }: RunFacts): string[] {
  const listed = (of: Record<string, string>): string =>
    Object.entries(of)
      .map((parts) => parts.join(' '))
      .join(', ');
  return [
    machine,
    ...(busy === '' ? [] : [busy]),
    `commit ${commit}; ${listed(versions)}`,
    `PostgreSQL: ${listed(settings)}`,
    flushText(flush),
  ];
}

function redisVersion(program: string): string {
  return /v=(\S+)/.exec(execFileSync(program, ['--version'], { encoding: 'utf8' }))?.[1] ?? 'unknown';
}

/** Returns the versions of the Python that workers run on and of its packages. */
function pythonVersions(): Record<string, string> {
  if (!existsSync(PYTHONS.new)) return {};
  const program = 'import platform, importlib.metadata as m; print(platform.python_version(), m.version("runpod"))';
  const [python = 'unknown', runpod = 'unknown'] = execFileSync(PYTHONS.new, ['-c', program], { encoding: 'utf8' })
    .trim()
    .split(' ');
  return { Python: python, runpod };
}

function commitText(): string {
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', ROOT, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    return (
      git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain', '--untracked-files=no') === '' ? '' : '+')
    );
  } catch {
    return 'unknown';
  }
}
