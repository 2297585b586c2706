/** Reads from PostgreSQL's catalogue what a backup has to copy: tables, their columns, and positions of sequences. */
import type { Sql } from '../sql/database.ts';

/** A table as a backup copies it. */
export interface TableShape {
  name: string;
  /** Columns that are stored, in their order. */
  columns: string[];
}

/** Position of a sequence. */
export interface SequencePosition {
  name: string;
  /** Last number that it gave. */
  last: number;
}

/** Returns all tables. A table comes after the tables that its foreign keys refer to. */
export async function listTables(sql: Sql): Promise<TableShape[]> {
  const tables = await sql<TableShape[]>`
    SELECT c.relname AS name, array_agg(a.attname::text ORDER BY a.attnum) AS columns
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      AND a.attgenerated = ''
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' GROUP BY c.relname ORDER BY c.relname`;
  const references = await sql<{ of: string; to: string }[]>`
    SELECT c.relname AS of, r.relname AS to FROM pg_constraint f JOIN pg_class c ON c.oid = f.conrelid
    JOIN pg_class r ON r.oid = f.confrelid
    WHERE f.contype = 'f' AND c.oid <> r.oid AND c.relnamespace = 'public'::regnamespace`;
  const ordered: TableShape[] = [];
  let left = tables.map(({ name, columns }) => ({ name, columns }));
  while (left.length > 0) {
    const isFree = ({ name }: TableShape): boolean =>
      !references.some(({ of, to }) => of === name && left.some((other) => other.name === to));
    const free = left.filter(isFree);
    if (free.length === 0) throw new Error(`foreign keys lead in a circle: ${left.map(({ name }) => name).join(', ')}`);
    ordered.push(...free);
    left = left.filter((table) => !free.includes(table));
  }
  return ordered;
}

/** Returns the positions of all sequences that have given a number. */
export async function listSequences(sql: Sql): Promise<SequencePosition[]> {
  const rows = await sql<SequencePosition[]>`
    SELECT sequencename AS name, last_value AS last FROM pg_sequences
    WHERE schemaname = 'public' AND last_value IS NOT NULL ORDER BY sequencename`;
  return rows.map(({ name, last }) => ({ name, last }));
}

/** Returns whether the database has no table of anybody. */
export async function isEmpty(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ tables: number }[]>`
    SELECT count(*)::integer AS tables FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname IN ('public', 'drizzle') AND c.relkind IN ('r', 'p')`;
  return row!.tables === 0;
}
