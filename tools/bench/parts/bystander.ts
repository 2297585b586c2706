/**
 * Others in the database of a drain: one who keeps a transaction open, which keeps vacuum from removing anything, and
 * one who updates rows.
 */
import type postgres from 'postgres';
import { median } from '../figure.ts';

const PERIOD_MS = 20;
/** Nothing was seen of what should be measured. */
export const TOO_SHORT = 'a drain was over before it could be measured: it needs more jobs (--drain-jobs)';

/** An open transaction. */
export interface Snapshot {
  /** Resolves when it has been open for so long. */
  reach(seconds: number): Promise<void>;
  openSeconds(): number;
  end(): Promise<void>;
}

/** A transaction that sees the database as it is now. */
export async function holdSnapshot(sql: postgres.Sql): Promise<Snapshot> {
  const connection = await sql.reserve();
  await connection`BEGIN ISOLATION LEVEL REPEATABLE READ`;
  await connection`SELECT count(*) FROM pg_class`;
  const openedAt = performance.now();
  const openSeconds = (): number => (performance.now() - openedAt) / 1_000;
  return {
    reach: (seconds) =>
      new Promise((resolve) => {
        setTimeout(resolve, Math.max(0, seconds - openSeconds()) * 1_000);
      }),
    openSeconds,
    end: async () => {
      await connection`ROLLBACK`;
      connection.release();
    },
  };
}

/** Somebody else who updates a row now and then. */
export interface Bystander {
  /** What was measured so far does not count. */
  forget(): void;
  /** Of an update, in milliseconds. Throws when there was none. */
  median(): number;
  stop(): Promise<void>;
}

/** Makes a table of its own for it. */
export async function startBystander(sql: postgres.Sql): Promise<Bystander> {
  await sql`CREATE TABLE bystander AS SELECT id, 0 AS count FROM generate_series(1, 1000) AS id`;
  await sql`ALTER TABLE bystander ADD PRIMARY KEY (id)`;
  let times: number[] = [];
  let stopped = false;
  const loop = (async () => {
    for (let turn = 0; !stopped; turn += 1) {
      const startedAt = performance.now();
      await sql`UPDATE bystander SET count = count + 1 WHERE id = ${1 + (turn % 1_000)}`;
      times.push(performance.now() - startedAt);
      await new Promise((resolve) => {
        setTimeout(resolve, PERIOD_MS);
      });
    }
  })();
  return {
    forget: () => {
      times = [];
    },
    median: () => {
      if (times.length === 0) throw new Error(TOO_SHORT);
      return median(times);
    },
    stop: async () => {
      stopped = true;
      await loop;
    },
  };
}
