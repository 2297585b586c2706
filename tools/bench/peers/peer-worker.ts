/** A child that is one worker of a peer, with a handler that does nothing. */
import { serveParent } from '../child.ts';
import { OUTPUT } from './peer.ts';
import { PEERS } from './peers.ts';

/**
 * Jobs it was given so far, and when the first of them came, in milliseconds of the machine's clock. Undefined: none
 * came, which is so in a short drain.
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
