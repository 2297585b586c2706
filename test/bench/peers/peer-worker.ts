/** A child that is one worker of a peer, with a handler that does nothing. */
import { serveParent } from '../child.ts';
import { PEERS } from './peers.ts';

/** Jobs it was given so far, and when the first of them came, in milliseconds of the machine's clock. */
export interface WorkerCount {
  jobs: number;
  firstMs: number;
}

const { BENCH_PEER = '', BENCH_STORE = '', BENCH_QUEUE = '' } = process.env;
const count: WorkerCount = { jobs: 0, firstMs: Infinity };

serveParent({}, {
  work: () => PEERS[BENCH_PEER]!.startWorker({ store: BENCH_STORE, queue: BENCH_QUEUE }, () => {
    if (count.jobs === 0) count.firstMs = performance.timeOrigin + performance.now();
    count.jobs += 1;
  }),
  count: () => count,
});
