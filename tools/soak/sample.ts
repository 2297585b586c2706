/** Samples of a soak: memory, descriptors, tables, indexes, folders. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readMetrics } from '@slipway/test/helpers/system/metrics';
import { descendants } from '@slipway/test/helpers/system/process-table';
import type { Inspectors } from './parts.ts';
import { askEnvoy } from './parts.ts';
import type { SoakSystem } from './soak-system.ts';

/** Values by name of the plot and name of the line. */
type Sample = Record<Subject, Record<string, number>>;
export type Subject =
  | 'memory'
  | 'heap'
  | 'descriptors'
  | 'metrics'
  | 'values'
  | 'tables'
  | 'indexes'
  | 'rows'
  | 'folders'
  | 'latency'
  | 'work';

const MIB = 2 ** 20;
const KB_PER_MIB = 1_024;
/** Tables with a line of their own: the largest. */
const TABLES_SHOWN = 6;
/** Line of the tables whose rows are kept for hours or days, so that they grow through a whole soak. */
export const KEPT_LONG = 'kept for hours and days';
/** Decisions are kept for 7 days, ended workers and idempotency keys for a day, counts for 12 h, the audit for ever. */
const KEPT_LONG_TABLES =
  /^(scale_log|idempotency_key|worker|worker_.*|audit_event|usage_span|endpoint_(traffic|requests|load|release|rollout))$/;

interface TableRow {
  name: string;
  table: number;
  indexes: number;
  live: number;
}

/** Takes one sample, without heaps, latencies and work. */
export async function takeSample(
  system: SoakSystem,
  tables: ReadonlySet<string>,
): Promise<Omit<Sample, 'heap' | 'latency' | 'work'>> {
  const { memory, descriptors } = readProcesses(system);
  const rows = await readTables(system);
  const [long, short] = [true, false].map((isLong) =>
    rows.filter(({ name }) => KEPT_LONG_TABLES.test(name) === isLong),
  );
  const of = (pick: (row: TableRow) => number): Record<string, number> => ({
    all: short!.reduce((sum, row) => sum + pick(row), 0),
    [KEPT_LONG]: long!.reduce((sum, row) => sum + pick(row), 0),
    ...Object.fromEntries(short!.filter(({ name }) => tables.has(name)).map((row) => [row.name, pick(row)])),
  });
  return {
    memory,
    descriptors,
    metrics: await countMetrics(system),
    values: await readValues(system),
    tables: of(({ table }) => table / MIB),
    indexes: of(({ indexes }) => indexes / MIB),
    rows: of(({ live }) => live),
    folders: readFolders(system),
  };
}

/**
 * Returns what is alive of the heap of each part, in MiB: of a Node process what is left after a collection, of Envoy
 * what is allocated. A collection stops its process for a tenth of a second.
 */
export async function takeHeaps({ edge, folder }: SoakSystem, inspectors: Inspectors): Promise<Record<string, number>> {
  const heaps: Record<string, number> = {};
  for (const [name, inspector] of inspectors) heaps[name] = (await inspector.aliveBytes()) / MIB;
  if (edge) heaps['Envoy'] = (await askEnvoy(join(folder, 'edge'))).allocatedMib;
  return heaps;
}

/** Returns the names of the largest tables. */
export async function largestTables(system: SoakSystem): Promise<Set<string>> {
  const rows = await readTables(system);
  return new Set(
    rows
      .toSorted((left, right) => right.table + right.indexes - left.table - left.indexes)
      .slice(0, TABLES_SHOWN)
      .map(({ name }) => name),
  );
}

function readProcesses(system: SoakSystem): Pick<Sample, 'memory' | 'descriptors'> {
  const [agent] = system.agents;
  const workers = descendants(agent!.pid)
    .map(({ pid }) => pid)
    .filter((pid) => pid !== agent!.pid);
  const groups: [name: string, pids: number[]][] = [
    ['core', [system.cores[0]!.pid]],
    ...system.facades.map(({ name, pid }): [string, number[]] => [name, [pid]]),
    ...edgeGroups(system),
    ['agent', [agent!.pid]],
    ['workers', workers],
    ['PostgreSQL', allOf(system.database.pid)],
  ];
  const sum = (pids: readonly number[], read: (pid: number) => number): number =>
    pids.reduce((total, pid) => total + read(pid), 0);
  return {
    memory: Object.fromEntries(groups.map(([name, pids]) => [name, sum(pids, pssMib)])),
    descriptors: Object.fromEntries(groups.map(([name, pids]) => [name, sum(pids, descriptorsOf)])),
  };
}

/** Returns the processes of the edge: a Node process that supervises an Envoy, and that. */
function edgeGroups({ edge }: SoakSystem): [name: string, pids: number[]][] {
  if (!edge) return [];
  const { pid } = edge;
  return [
    ['edge', [pid]],
    ['Envoy', allOf(pid).filter((each) => each !== pid)],
  ];
}

function allOf(pid: number): number[] {
  return descendants(pid).map((entry) => entry.pid);
}

/** Returns the memory of a process with its share of what it shares with others; 0 if it has ended. */
function pssMib(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0) / KB_PER_MIB;
  } catch {
    return 0;
  }
}

function descriptorsOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}

async function readTables({ sql }: SoakSystem): Promise<TableRow[]> {
  return sql<TableRow[]>`
    SELECT relname AS name, pg_table_size(relid)::float8 AS table, pg_indexes_size(relid)::float8 AS indexes,
      n_live_tup::float8 AS live
    FROM pg_stat_user_tables`;
}

/** Returns the number of series that each part serves, as Prometheus would read them. */
async function countMetrics({ metrics }: SoakSystem): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const [name, address] of metrics)
    counts[name] = [...(await readMetrics(address)).values()].reduce((sum, { samples }) => sum + samples.length, 0);
  return counts;
}

/** Returns the stored bytes of the large values that are alive, in MiB. A table's file also has what vacuum freed. */
async function readValues({ sql }: SoakSystem): Promise<Record<string, number>> {
  const [row] = await sql<{ inputs: number; outputs: number; chunks: number }[]>`
    SELECT (SELECT coalesce(sum(pg_column_size(input)), 0) FROM job_input)::float8 AS inputs,
      (SELECT coalesce(sum(pg_column_size(output)), 0) FROM job_output)::float8 AS outputs,
      (SELECT coalesce(sum(pg_column_size(output)), 0) FROM job_chunk)::float8 AS chunks`;
  return Object.fromEntries(Object.entries(row!).map(([name, bytes]) => [name, bytes / MIB]));
}

function readFolders({ folder }: SoakSystem): Record<string, number> {
  const logs = readdirSync(folder).filter((name) => /\.log(\.old)?$/.test(name));
  return {
    'logs of the parts': logs.reduce((sum, name) => sum + bytesOf(join(folder, name)), 0) / MIB,
    'data of the agent': bytesOf(join(folder, 'agent-1')) / MIB,
    'data of the edge': bytesOf(join(folder, 'edge')) / MIB,
  };
}

/** Returns the bytes of a file, or of all files below a folder; 0 if it is gone. */
function bytesOf(path: string): number {
  try {
    const stat = statSync(path);
    if (!stat.isDirectory()) return stat.size;
    return readdirSync(path).reduce((sum, name) => sum + bytesOf(join(path, name)), 0);
  } catch {
    return 0;
  }
}
