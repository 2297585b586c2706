/** BullMQ: jobs in Redis. A caller waits by its QueueEvents. */
import { loadPeer } from './install.ts';
import { CONCURRENCY, OUTPUT } from './peer.ts';
import type { Peer, PeerPlace, PeerQueue } from './peer.ts';

interface Job {
  id: string;
  waitUntilFinished(events: object, ms: number): Promise<unknown>;
}
interface Queue {
  add(name: string, data: object): Promise<Job>;
  addBulk(jobs: { name: string; data: object }[]): Promise<Job[]>;
  getCompletedCount(): Promise<number>;
}
interface BullMq {
  Queue: new (name: string, options: object) => Queue;
  QueueEvents: new (name: string, options: object) => { waitUntilReady(): Promise<unknown> };
  Worker: new (name: string, handler: () => Promise<object>, options: object) => { waitUntilReady(): Promise<unknown> };
}

const WAIT_MS = 60_000;
const BULK = 1_000;

export const bullMq: Peer = {
  async openQueue({ store, queue: name }: PeerPlace): Promise<PeerQueue> {
    const library = loadPeer<BullMq>('bullmq');
    const queue = new library.Queue(name, { connection: { path: store } });
    const events = new library.QueueEvents(name, { connection: { path: store } });
    await events.waitUntilReady();
    return {
      submit: async (input) => (await queue.add('job', input)).id,
      submitAndWait: async (input) => (await queue.add('job', input)).waitUntilFinished(events, WAIT_MS),
      fill: async (count) => {
        for (let left = count; left > 0; left -= BULK) {
          await queue.addBulk(Array.from({ length: Math.min(BULK, left) }, (_, number) => ({ name: 'job', data: { number } })));
        }
      },
      done: () => queue.getCompletedCount(),
    };
  },
  async startWorker({ store, queue }: PeerPlace, onJob: () => void): Promise<void> {
    const library = loadPeer<BullMq>('bullmq');
    const handler = async (): Promise<object> => {
      onJob();
      return OUTPUT;
    };
    await new library.Worker(queue, handler, { connection: { path: store, maxRetriesPerRequest: null }, concurrency: CONCURRENCY }).waitUntilReady();
  },
};
