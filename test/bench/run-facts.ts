/** What figures belong to: the machine, the releases, the settings of the database, and the commit. */
import { execFileSync } from 'node:child_process';
import postgres from 'postgres';
import type { Bench } from './bench.ts';
import { ROOT } from './child.ts';
import { busyText, machineText } from './figure.ts';
import { findRedis } from './peers/redis.ts';

/** As printed, and as JSON. */
export interface RunFacts {
  machine: string;
  /** A warning, or empty. */
  busy: string;
  /** Of this checkout; a `+` after it says that files have changed since. */
  commit: string;
  /** By program. */
  versions: Record<string, string>;
  /** Of PostgreSQL, the same for all who use it. */
  settings: Record<string, string>;
  rounds: number;
  /** Of a round that has a length. */
  seconds: number;
}

const SETTINGS = ['fsync', 'synchronous_commit', 'full_page_writes', 'shared_buffers', 'max_wal_size', 'wal_sync_method'];

/** Of this run. */
export async function runFacts(bench: Bench): Promise<RunFacts> {
  const sql = postgres(bench.database.url, { max: 1 });
  const rows = await sql<{ name: string; setting: string }[]>`
    SELECT name, current_setting(name) AS setting FROM pg_settings WHERE name = ANY(${[...SETTINGS, 'server_version']}) ORDER BY name`;
  await sql.end();
  const { server_version: postgresVersion = '', ...settings } = Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
  const redis = findRedis();
  const versions = { Node: process.version, PostgreSQL: postgresVersion, ...(redis !== undefined && { Redis: redisVersion(redis) }) };
  const { rounds, seconds } = bench.options;
  return { machine: machineText(), busy: busyText(), commit: commitText(), versions, settings, rounds, seconds };
}

/** For people. */
export function factLines({ machine, busy, commit, versions, settings }: RunFacts): string[] {
  const listed = (of: Record<string, string>): string => Object.entries(of).map((parts) => parts.join(' ')).join(', ');
  return [machine, ...(busy === '' ? [] : [busy]), `commit ${commit}; ${listed(versions)}`, `PostgreSQL: ${listed(settings)}`];
}

function redisVersion(program: string): string {
  return /v=(\S+)/.exec(execFileSync(program, ['--version'], { encoding: 'utf8' }))?.[1] ?? 'unknown';
}

function commitText(): string {
  const git = (...args: string[]): string => execFileSync('git', ['-C', ROOT, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    return git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain', '--untracked-files=no') === '' ? '' : '+');
  } catch {
    return 'unknown';
  }
}
