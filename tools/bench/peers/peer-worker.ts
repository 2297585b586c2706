/** A child that is one worker of a peer, with a handler that does nothing. */
import { serveParent } from '../child.ts';
import { OUTPUT } from './peer.ts';
import { PEERS } from './peers.ts';

/**
 * Number of jobs so far, and arrival of the first one in milliseconds of the machine's clock. `firstMs` is `undefined`
 * if no job came, which may happen in a short drain.
 */
export interface WorkerCount {
  jobs: number;
  firstMs?: number;
}

const { BENCH_PEER = '', BENCH_STORE = '', BENCH_QUEUE = '' } = process.env;
const count: WorkerCount = { jobs: 0 };

async function handler(): Promise<object> {
  count.firstMs ??= performance.timeOrigin + performance.now();
  count.jobs += 1;
  return OUTPUT;
}

serveParent(
  {},
  {
    work: () => PEERS[BENCH_PEER]!.startWorker({ store: BENCH_STORE, queue: BENCH_QUEUE }, handler),
    count: () => count,
  },
);
