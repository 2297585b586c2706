/**
 * Other clients in the database of a drain: one that keeps a transaction open, so that vacuum cannot remove anything,
 * and one that updates rows.
 */
import type postgres from 'postgres';
import { median } from '../figure.ts';

const PERIOD_MS = 20;
/** Error text if the drain ended before anything was measured. */
export const TOO_SHORT = 'a drain was over before it could be measured: it needs more jobs (--drain-jobs)';

/** An open transaction. */
interface Snapshot {
  /** Resolves when the transaction has been open for this many seconds. */
  reach(seconds: number): Promise<void>;
  openSeconds(): number;
  end(): Promise<void>;
}

/** Opens a transaction that sees the database as it is now. */
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

/** A client that updates a row at intervals. */
export interface Bystander {
  /** Discards all measurements so far. */
  forget(): void;
  /** Returns the median time of an update, in milliseconds. Throws if there was none. */
  median(): number;
  stop(): Promise<void>;
}

/** Starts a bystander with its own table. */
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
