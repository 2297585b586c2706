/** pg-boss: jobs in PostgreSQL, fetched and completed 500 at a time, with its own notices of new jobs. */
import { randomUUID } from 'node:crypto';
import postgres from 'postgres';
import { loadPeer } from './install.ts';
import { hearNotices, noticeSender } from './notices.ts';
import type { Kept, Peer, PeerContext, PeerHandler, PeerQueue } from './peer.ts';
import { OUTPUT } from './peer.ts';

interface Boss {
  start(): Promise<unknown>;
  createQueue(name: string): Promise<void>;
  send(name: string, data: object, options?: object): Promise<string>;
  insert(name: string, jobs: { data: object }[]): Promise<unknown>;
  fetch(name: string, options: { batchSize: number }): Promise<{ id: string; data: { awaited?: boolean } }[]>;
  complete(name: string, ids: string[], data: object): Promise<unknown>;
  on(event: 'error', listener: (error: Error) => void): void;
}
interface PgBossModule {
  PgBoss: new (options: object) => Boss;
}

const BATCH = 500;
const BULK = 1_000;
const NEW_JOBS = 'bench_new';
/** Connections of each of its pools. This is its default. */
const POOL = 10;

async function open({ store, queue }: PeerContext): Promise<Boss> {
  const { PgBoss } = loadPeer<PgBossModule>('pg-boss');
  const boss = new PgBoss({ connectionString: store, max: POOL, supervise: false, schedule: false });
  boss.on('error', (error) => {
    process.stderr.write(`pg-boss: ${error.message}\n`);
  });
  await boss.start();
  await boss.createQueue(queue).catch(() => undefined);
  return boss;
}

export const pgBoss: Peer = {
  settings: `fetched and completed ${BATCH} at a time, filled ${BULK} at a time, ${POOL} connections a process`,
  async openQueue(context: PeerContext): Promise<PeerQueue> {
    const { store, queue } = context;
    const boss = await open(context);
    const sql = postgres(store, { max: 2 });
    const notices = await hearNotices(store, async (ids) => {
      const rows = await sql<{ id: string; output: unknown }[]>`
        SELECT id, output FROM pgboss.job WHERE name = ${queue} AND state = 'completed'
          AND id = ANY(${[...ids]}::uuid[])`;
      return new Map(rows.map(({ id, output }) => [id, output]));
    });
    let telling = false;
    const tell = async (): Promise<void> => {
      if (telling) return;
      telling = true;
      await new Promise(setImmediate);
      telling = false;
      await sql.notify(NEW_JOBS, '');
    };
    return {
      submit: (input) => boss.send(queue, input),
      submitAndWait: async (input) => {
        const id = randomUUID();
        const done = notices.finished(id);
        await boss.send(queue, { ...input, awaited: true }, { id });
        void tell();
        return done;
      },
      fill: async (count) => {
        for (let left = count; left > 0; left -= BULK) {
          await boss.insert(
            queue,
            Array.from({ length: Math.min(BULK, left) }, (_, number) => ({ data: { number } })),
          );
        }
      },
      done: async () =>
        Number(
          (await sql`SELECT count(*) AS n FROM pgboss.job WHERE name = ${queue} AND state = 'completed'`)[0]!['n'],
        ),
      kept: async () => {
        const [row] = await sql<Kept[]>`
          SELECT count(*) FILTER (WHERE state IN ('created', 'retry', 'active'))::int AS waiting,
            count(*) FILTER (WHERE state = 'completed')::int AS done,
            count(*) FILTER (WHERE state NOT IN ('created', 'retry', 'active')
              AND (state <> 'completed' OR retry_count > 0 OR output IS DISTINCT
                FROM ${sql.json(OUTPUT)}))::int AS wrong
          FROM pgboss.job WHERE name = ${queue}`;
        return row!;
      },
    };
  },
  async startWorker(context: PeerContext, handler: PeerHandler): Promise<void> {
    const boss = await open(context);
    const finished = noticeSender(context.store);
    let wake = (): void => undefined;
    let fresh = true;
    await postgres(context.store, { max: 1 }).listen(NEW_JOBS, () => {
      fresh = true;
      wake();
    });
    void (async () => {
      for (;;) {
        fresh = false;
        const jobs = await boss.fetch(context.queue, { batchSize: BATCH });
        const [output] = await Promise.all(jobs.map(() => handler()));
        const ids = jobs.map(({ id }) => id);
        // pg-boss takes one output for all jobs that are completed together.
        if (ids.length > 0) await boss.complete(context.queue, ids, output!);
        const awaited = jobs.filter(({ data }) => data.awaited).map(({ id }) => id);
        if (awaited.length > 0) finished(awaited);
        if (ids.length === 0 && !fresh)
          await new Promise<void>((resolve) => {
            wake = resolve;
            setTimeout(resolve, 500);
          });
      }
    })();
  },
};
