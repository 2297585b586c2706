/**
 * graphile-worker: jobs in PostgreSQL, as it comes, or with its local queue and completions in batches. It keeps no
 * outputs, so what callers get is what the handler is known to return; and it says that a job is complete while the
 * statement for it is still under way.
 */
import { randomUUID } from 'node:crypto';
import postgres from 'postgres';
import { loadPeer } from './install.ts';
import { hearNotices, noticeSender } from './notices.ts';
import type { Kept, Peer, PeerHandler, PeerPlace, PeerQueue } from './peer.ts';
import { CONCURRENCY, OUTPUT } from './peer.ts';

interface Utils {
  migrate(): Promise<void>;
  addJob(task: string, payload: object): Promise<{ id: string }>;
}
interface Graphile {
  Logger: new (makeLog: () => () => void) => object;
  makeWorkerUtils(options: { connectionString: string }): Promise<Utils>;
  run(options: object): Promise<{
    events: { on(event: 'job:complete', listener: (event: { job: { payload: { key?: string } } }) => void): void };
  }>;
}

const LOCAL_QUEUE = 500;
/** Jobs that one statement stores: with all of them in one it takes ten minutes. */
const FILL = 1_000;
/** Connections of a worker. More of them, of four workers, are more than one server has. */
const POOL = 20;

/** `batched`: its options for many short jobs. */
export function graphile(batched: boolean): Peer {
  const ofBatches = batched ? `, local queue of ${LOCAL_QUEUE}, completions in batches without delay` : '';
  const preset = { worker: { localQueue: { size: LOCAL_QUEUE }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } };
  return {
    settings: `${CONCURRENCY} jobs at once, ${POOL} connections a worker${ofBatches}`,
    async openQueue({ store, queue }: PeerPlace): Promise<PeerQueue> {
      const utils = await loadPeer<Graphile>('graphile-worker').makeWorkerUtils({ connectionString: store });
      await utils.migrate();
      const notices = await hearNotices(store);
      const sql = postgres(store, { max: 1 });
      let stored = 0;
      const add = async (input: object): Promise<string> => {
        const { id } = await utils.addJob(queue, input);
        stored += 1;
        return id;
      };
      // What is done is deleted.
      const done = async (): Promise<number> =>
        stored - Number((await sql`SELECT count(*) AS n FROM graphile_worker._private_jobs`)[0]!['n']);
      return {
        submit: add,
        submitAndWait: async (input) => {
          const key = randomUUID();
          const finished = notices.finished(key);
          await add({ ...input, key });
          await finished;
          return OUTPUT;
        },
        fill: async (count) => {
          stored += count;
          for (let from = 0; from < count; from += FILL) {
            await sql`SELECT count(*) FROM graphile_worker.add_jobs(ARRAY(
              SELECT ROW(${queue}::text, json_build_object('number', n), NULL, NULL, NULL, NULL, NULL, NULL)::graphile_worker.job_spec
              FROM generate_series(1, ${Math.min(FILL, count - from)}::int) n))`;
          }
          // As autovacuum would a minute later: without it each job is looked for in all of them.
          await sql`ANALYZE graphile_worker._private_jobs`;
        },
        done,
        kept: async (): Promise<Kept> => {
          const [row] = await sql<{ left: number; failed: number }[]>`
            SELECT count(*)::int AS left, count(last_error)::int AS failed FROM graphile_worker._private_jobs`;
          return { waiting: row!.left - row!.failed, done: stored - row!.left, wrong: row!.failed };
        },
      };
    },
    async startWorker({ store, queue }: PeerPlace, handler: PeerHandler): Promise<void> {
      const finished = noticeSender(store);
      const library = loadPeer<Graphile>('graphile-worker');
      // A line for each job would be what is measured.
      const logger = new library.Logger(() => () => undefined);
      const { events } = await library.run({
        connectionString: store,
        concurrency: CONCURRENCY,
        maxPoolSize: POOL,
        crontab: '',
        noHandleSignals: true,
        logger,
        ...(batched && { preset }),
        taskList: {
          [queue]: async () => {
            await handler();
          },
        },
      });
      events.on('job:complete', ({ job }) => {
        if (job.payload.key !== undefined) finished([job.payload.key]);
      });
    },
  };
}
