/** The ceilings of the race: the same Fastify with the same check of a key, and as little behind it as can be. They have no workers. */
import { randomUUID } from 'node:crypto';
import postgres from 'postgres';
import { OUTPUT } from './peer.ts';
import type { Peer } from './peer.ts';

const nothing = async (): Promise<void> => undefined;

/** Stores nothing: what HTTP alone costs. */
export const noCommit: Peer = {
  openQueue: async () => ({ submit: async () => 'none', submitAndWait: async () => OUTPUT, fill: nothing, done: async () => 0 }),
  startWorker: nothing,
};

/** One row, inserted and updated in a commit each: the least that a durable job and its durable outcome take. */
export const twoCommits: Peer = {
  async openQueue({ store, queue }) {
    const sql = postgres(store, { max: 20, onnotice: () => undefined });
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
    };
  },
  startWorker: nothing,
};
