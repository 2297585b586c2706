/** pg-boss: jobs in PostgreSQL, fetched and completed 500 at a time, with its own notices of new jobs. */
import { randomUUID } from 'node:crypto';
import postgres from 'postgres';
import { loadPeer } from './install.ts';
import { hearNotices, noticeSender } from './notices.ts';
import { OUTPUT } from './peer.ts';
import type { Peer, PeerPlace, PeerQueue } from './peer.ts';

interface Boss {
  start(): Promise<unknown>;
  createQueue(name: string): Promise<void>;
  send(name: string, data: object, options?: object): Promise<string>;
  insert(name: string, jobs: { data: object }[]): Promise<unknown>;
  fetch(name: string, options: { batchSize: number }): Promise<{ id: string }[]>;
  complete(name: string, ids: string[], data: object): Promise<unknown>;
  on(event: 'error', listener: (error: Error) => void): void;
}
interface PgBossModule {
  PgBoss: new (options: object) => Boss;
}

const BATCH = 500;
const BULK = 1_000;
const NEW_JOBS = 'bench_new';

async function open({ store, queue }: PeerPlace): Promise<Boss> {
  const { PgBoss } = loadPeer<PgBossModule>('pg-boss');
  const boss = new PgBoss({ connectionString: store, supervise: false, schedule: false });
  boss.on('error', (error) => { process.stderr.write(`pg-boss: ${error.message}\n`); });
  await boss.start();
  await boss.createQueue(queue).catch(() => undefined);
  return boss;
}

export const pgBoss: Peer = {
  async openQueue(place: PeerPlace): Promise<PeerQueue> {
    const { store, queue } = place;
    const boss = await open(place);
    const notices = await hearNotices(store);
    const sql = postgres(store, { max: 1 });
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
        await boss.send(queue, input, { id });
        void tell();
        await done;
        return OUTPUT;
      },
      fill: async (count) => {
        for (let left = count; left > 0; left -= BULK) {
          await boss.insert(queue, Array.from({ length: Math.min(BULK, left) }, (_, number) => ({ data: { number } })));
        }
      },
      done: async () => Number((await sql`SELECT count(*) AS n FROM pgboss.job WHERE state = 'completed' AND output IS NOT NULL`)[0]!['n']),
    };
  },
  async startWorker(place: PeerPlace, onJob: () => void): Promise<void> {
    const boss = await open(place);
    const finished = noticeSender(place.store);
    let wake = (): void => undefined;
    let fresh = true;
    await postgres(place.store, { max: 1 }).listen(NEW_JOBS, () => { fresh = true; wake(); });
    void (async () => {
      for (;;) {
        fresh = false;
        const jobs = await boss.fetch(place.queue, { batchSize: BATCH });
        for (const _ of jobs) onJob();
        const ids = jobs.map(({ id }) => id);
        if (ids.length > 0) await boss.complete(place.queue, ids, OUTPUT);
        if (ids.length > 0) finished(ids);
        else if (!fresh) await new Promise<void>((resolve) => { wake = resolve; setTimeout(resolve, 500); });
      }
    })();
  },
};
