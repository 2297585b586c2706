/** BullMQ: jobs in Redis. A caller waits through its QueueEvents. */
import { loadPeer } from './install.ts';
import type { Kept, Peer, PeerContext, PeerHandler, PeerQueue } from './peer.ts';
import { CONCURRENCY, OUTPUT } from './peer.ts';

interface Job {
  id: string;
  waitUntilFinished(events: object, ms: number): Promise<unknown>;
}
interface Queue {
  setMaxListeners(count: number): void;
  add(name: string, data: object): Promise<Job>;
  addBulk(jobs: { name: string; data: object }[]): Promise<Job[]>;
  getCompletedCount(): Promise<number>;
  getJobCounts(...states: string[]): Promise<Record<string, number>>;
}
interface BullMq {
  Queue: new (name: string, options: object) => Queue;
  QueueEvents: new (name: string, options: object) => { waitUntilReady(): Promise<unknown> };
  Worker: new (name: string, handler: PeerHandler, options: object) => { waitUntilReady(): Promise<unknown> };
}

interface IoRedis {
  Redis: new (options: object) => { eval(script: string, keys: number, ...parameters: string[]): Promise<number> };
}

const WAIT_MS = 60_000;
const BULK = 1_000;
/** Counts completed jobs with a wrong return value. */
const COUNT_WRONG = `
  local wrong = 0
  for _, id in ipairs(redis.call('ZRANGE', KEYS[1] .. 'completed', 0, -1)) do
    if redis.call('HGET', KEYS[1] .. id, 'returnvalue') ~= ARGV[1] then wrong = wrong + 1 end
  end
  return wrong`;

export const bullMq: Peer = {
  settings: `${CONCURRENCY} jobs at once, filled ${BULK} at a time`,
  async openQueue({ store, queue: name }: PeerContext): Promise<PeerQueue> {
    const library = loadPeer<BullMq>('bullmq');
    const queue = new library.Queue(name, { connection: { path: store } });
    const events = new library.QueueEvents(name, { connection: { path: store } });
    await events.waitUntilReady();
    // Each waiting caller listens for the closing of the queue.
    queue.setMaxListeners(0);
    const redis = new (loadPeer<IoRedis>('ioredis').Redis)({ path: store });
    return {
      submit: async (input) => (await queue.add('job', input)).id,
      submitAndWait: async (input) => (await queue.add('job', input)).waitUntilFinished(events, WAIT_MS),
      fill: async (count) => {
        for (let left = count; left > 0; left -= BULK) {
          await queue.addBulk(
            Array.from({ length: Math.min(BULK, left) }, (_, number) => ({ name: 'job', data: { number } })),
          );
        }
      },
      done: () => queue.getCompletedCount(),
      kept: async (): Promise<Kept> => {
        const {
          completed = 0,
          failed = 0,
          waiting = 0,
          active = 0,
        } = await queue.getJobCounts('completed', 'failed', 'waiting', 'active');
        const wrong = await redis.eval(COUNT_WRONG, 1, `bull:${name}:`, JSON.stringify(OUTPUT));
        return { waiting: waiting + active, done: completed, wrong: wrong + failed };
      },
    };
  },
  async startWorker({ store, queue }: PeerContext, handler: PeerHandler): Promise<void> {
    const library = loadPeer<BullMq>('bullmq');
    await new library.Worker(queue, handler, {
      connection: { path: store, maxRetriesPerRequest: null },
      concurrency: CONCURRENCY,
    }).waitUntilReady();
  },
};
