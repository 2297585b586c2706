/**
 * A child that inserts rows in batches, each with one statement, and does nothing else. It is the ceiling of every
 * figure that stores jobs.
 */
import { randomUUID } from 'node:crypto';
import { packBytes, textArray } from '@slipway/core/store/sql/pack';
import postgres from 'postgres';
import { serveParent } from '../child.ts';

/** Rows of one statement, and statements in flight. */
const BATCH = 500;
const CONNECTIONS = 4;

async function run({ url, seconds, body }: { url: string; seconds: number; body: string }): Promise<number> {
  const sql = postgres(url, { max: CONNECTIONS, onnotice: () => undefined });
  await sql`DROP TABLE IF EXISTS bare`;
  await sql`CREATE TABLE bare (endpoint_id text NOT NULL, id text NOT NULL, input bytea NOT NULL,
    PRIMARY KEY (endpoint_id, id))`;
  const endAt = performance.now() + seconds * 1_000;
  const startedAt = performance.now();
  const input = Buffer.from(body);
  let rows = 0;
  const insert = async (): Promise<void> => {
    while (performance.now() < endAt) {
      const ids = Array.from({ length: BATCH }, () => randomUUID());
      const inputs = packBytes(ids.map(() => input));
      await sql`INSERT INTO bare SELECT 'endpoint', id, substring(${inputs.blob}::bytea FROM start FOR length)
        FROM unnest(${textArray(ids)}::text[], ${inputs.starts}::int[], ${inputs.lengths}::int[]) AS g(id, start,
          length)`;
      rows += BATCH;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, insert));
  const rate = rows / ((performance.now() - startedAt) / 1_000);
  await sql`DROP TABLE bare`;
  await sql.end();
  return rate;
}

serveParent({}, { run });
