/** Compares the middle of a soak with its end: heaps by class, tables by what fills them, statistics of Envoy. */
import { join } from 'node:path';
import type { ClassTotal } from './inspector.ts';
import type { Inspectors } from './parts.ts';
import { askEnvoy } from './parts.ts';
import type { SoakSystem } from './soak-system.ts';

const [KIB, MIB] = [1_024, 2 ** 20];
/** Classes shown for each part. */
const CLASSES_SHOWN = 12;
/** Tables smaller than this at both times are left out, in bytes. */
const TABLE_MIN = MIB;

/** A table with its large values, which PostgreSQL keeps in a table of their own (TOAST). */
interface TableParts {
  name: string;
  rows: number;
  dead: number;
  bytes: number;
  largeRows: number;
  largeDead: number;
  largeBytes: number;
  vacuums: number;
}

/** What is alive at one time. */
export interface Inventory {
  classes: Map<string, Map<string, ClassTotal>>;
  tables: Map<string, TableParts>;
  envoyStatistics: number;
}

/** Takes an inventory. Each part stands still for seconds. */
export async function takeInventory({ sql, edge, folder }: SoakSystem, inspectors: Inspectors): Promise<Inventory> {
  const classes = new Map<string, Map<string, ClassTotal>>();
  for (const [part, inspector] of inspectors) classes.set(part, await inspector.classes());
  const tables = await sql<TableParts[]>`
    SELECT c.relname AS name, s.n_live_tup::float8 AS rows, s.n_dead_tup::float8 AS dead,
      pg_relation_size(c.oid)::float8 AS bytes, coalesce(l.n_live_tup, 0)::float8 AS "largeRows",
      coalesce(l.n_dead_tup, 0)::float8 AS "largeDead", coalesce(pg_relation_size(l.relid), 0)::float8 AS "largeBytes",
      (s.autovacuum_count + coalesce(l.autovacuum_count, 0))::float8 AS vacuums
    FROM pg_class c JOIN pg_stat_user_tables s ON s.relid = c.oid
    LEFT JOIN pg_stat_all_tables l ON l.relid = c.reltoastrelid`;
  return {
    classes,
    tables: new Map(tables.map((table) => [table.name, table])),
    envoyStatistics: edge ? (await askEnvoy(join(folder, 'edge'))).statistics : 0,
  };
}

/** Returns the differences as Markdown. */
export function growthBetween(before: Inventory, after: Inventory): string {
  return [
    ...[...after.classes].flatMap(([part, classes]) => classGrowth(part, before.classes.get(part), classes)),
    '| Table, middle and end | rows | dead | MiB | large rows | dead | MiB | vacuums |',
    '|---|---|---|---|---|---|---|---|',
    ...[...after.tables.values()].flatMap((table) => tableGrowth(before.tables.get(table.name), table)),
    '',
    `Statistics of Envoy: ${before.envoyStatistics}, ${after.envoyStatistics}.`,
  ].join('\n');
}

function classGrowth(
  part: string,
  before: ReadonlyMap<string, ClassTotal> | undefined,
  after: Map<string, ClassTotal>,
) {
  const grown = [...after]
    .map(([name, { count, bytes }]) => {
      const { count: countBefore, bytes: bytesBefore } = before?.get(name) ?? { count: 0, bytes: 0 };
      return { name, count, more: count - countBefore, moreBytes: bytes - bytesBefore };
    })
    .toSorted((left, right) => right.moreBytes - left.moreBytes)
    .slice(0, CLASSES_SHOWN);
  return [
    `| Alive in ${part} | at the end | more | more KiB |`,
    '|---|---|---|---|',
    ...grown.map(
      ({ name, count, more, moreBytes }) => `| ${cell(name)} | ${count} | ${more} | ${(moreBytes / KIB).toFixed(0)} |`,
    ),
    '',
  ];
}

function tableGrowth(before: TableParts | undefined, after: TableParts): string[] {
  const both = [before, after].flatMap((table) => table ?? []);
  if (both.every(({ bytes, largeBytes }) => bytes + largeBytes < TABLE_MIN)) return [];
  const figure = (pick: (table: TableParts) => number, digits = 0): string =>
    both.map((table) => pick(table).toFixed(digits)).join(', ');
  const figures = [
    figure(({ rows }) => rows),
    figure(({ dead }) => dead),
    figure(({ bytes }) => bytes / MIB, 1),
    figure(({ largeRows }) => largeRows),
    figure(({ largeDead }) => largeDead),
    figure(({ largeBytes }) => largeBytes / MIB, 1),
    figure(({ vacuums }) => vacuums),
  ];
  return [`| ${after.name} | ${figures.join(' | ')} |`];
}

function cell(name: string): string {
  return name.replaceAll('|', '\\|').replaceAll('\n', ' ').slice(0, 80);
}
