/**
 * graphile-worker: jobs in PostgreSQL, either with default settings or with its local queue and completions in batches.
 * It keeps no outputs, so callers get the output that the handler is known to return. It reports a job as complete
 * while its statement for it is still in progress.
 */
import { randomUUID } from 'node:crypto';
import postgres from 'postgres';
import { loadPeer } from './install.ts';
import { hearNotices, noticeSender } from './notices.ts';
import type { Kept, Peer, PeerContext, PeerHandler, PeerQueue } from './peer.ts';
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
/** Jobs that one statement stores. One statement for all jobs takes ten minutes. */
const FILL = 1_000;
/** Connections of a worker. With more of them, four workers exceed the connections of a server. */
const POOL = 20;

/** Returns the peer. `batched`: uses its options for many short jobs. */
export function graphile(batched: boolean): Peer {
  const ofBatches = batched ? `, local queue of ${LOCAL_QUEUE}, completions in batches without delay` : '';
  const preset = { worker: { localQueue: { size: LOCAL_QUEUE }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } };
  return {
    settings: `${CONCURRENCY} jobs at once, ${POOL} connections a worker${ofBatches}`,
    async openQueue({ store, queue }: PeerContext): Promise<PeerQueue> {
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
      // Done jobs are deleted.
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
              SELECT ROW(${queue}::text, json_build_object('number', n), NULL, NULL, NULL, NULL, NULL,
                NULL)::graphile_worker.job_spec
              FROM generate_series(1, ${Math.min(FILL, count - from)}::int) n))`;
          }
          // Autovacuum would do this a minute later. Without it each job is searched for among all of them.
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
    async startWorker({ store, queue }: PeerContext, handler: PeerHandler): Promise<void> {
      const finished = noticeSender(store);
      const library = loadPeer<Graphile>('graphile-worker');
      // Without this, a log line for each job would dominate the measurement.
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
