/** A child that is one worker of a peer, with a handler that does nothing. */
import { serveParent } from '../child.ts';
import { PEERS } from './peers.ts';

/** Jobs it was given so far, and when the first and the last of them came, in milliseconds of the machine's clock. */
export interface WorkerCount {
  jobs: number;
  firstMs: number;
  lastMs: number;
}

const { BENCH_PEER = '', BENCH_STORE = '', BENCH_QUEUE = '' } = process.env;
const count: WorkerCount = { jobs: 0, firstMs: Infinity, lastMs: 0 };

serveParent({}, {
  work: () => PEERS[BENCH_PEER]!.startWorker({ store: BENCH_STORE, queue: BENCH_QUEUE }, () => {
    const now = performance.timeOrigin + performance.now();
    if (count.jobs === 0) count.firstMs = now;
    count.jobs += 1;
    count.lastMs = now;
  }),
  count: () => count,
});
