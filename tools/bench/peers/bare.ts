/**
 * Ceilings of the race: the same Fastify with the same check of a key, and as little behind it as possible. They have
 * no workers.
 */
import { randomUUID } from 'node:crypto';
import postgres from 'postgres';
import type { Kept, Peer } from './peer.ts';
import { OUTPUT } from './peer.ts';

/** Connections to PostgreSQL. */
const POOL = 20;

const nothing = async (): Promise<void> => undefined;

/** Stores nothing. Shows the cost of HTTP alone. */
export const noCommit: Peer = {
  settings: 'no store',
  openQueue: async () => ({
    submit: async () => 'none',
    submitAndWait: async () => OUTPUT,
    fill: nothing,
    done: async () => 0,
  }),
  startWorker: nothing,
};

/** Inserts and updates one row with a commit each, the minimum for a durable job with a durable outcome. */
export const twoCommits: Peer = {
  settings: `${POOL} connections`,
  async openQueue({ store, queue }) {
    const sql = postgres(store, { max: POOL, onnotice: () => undefined });
    const table = sql(`bare_${queue}`);
    await sql`CREATE TABLE ${table} (id uuid PRIMARY KEY, input jsonb NOT NULL, output jsonb)`;
    const submit = async (input: object): Promise<string> => {
      const id = randomUUID();
      await sql`INSERT INTO ${table} (id, input) VALUES (${id}, ${sql.json({ ...input })})`;
      return id;
    };
    return {
      submit,
      submitAndWait: async (input) => {
        const id = await submit(input);
        await sql`UPDATE ${table} SET output = ${sql.json(OUTPUT)} WHERE id = ${id}`;
        return OUTPUT;
      },
      fill: nothing,
      done: async () => 0,
      kept: async () => {
        const [row] = await sql<Kept[]>`
          SELECT count(*) FILTER (WHERE output IS NULL)::int AS waiting, count(output)::int AS done,
            count(*) FILTER (WHERE output <> ${sql.json(OUTPUT)})::int AS wrong
          FROM ${table}`;
        return row!;
      },
    };
  },
  startWorker: nothing,
};
