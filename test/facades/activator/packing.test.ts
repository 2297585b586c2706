/**
 * Which worker gets a request: the least loaded one, but workers that are too many get none while others have less than
 * their share.
 */

import { EndpointQueue } from '@slipway/facades/activator/endpoint-queue';
import type { WorkerSlot } from '@slipway/facades/activator/worker-slot';
import { EndpointRotation } from '@slipway/proto/gen/slipway/v1/edge_service';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';

const SHARE = 4;

/** Returns a queue with workers a, b and c, of which those named are too many. */
function queueOf(surplus: string[], { requestsPerWorker = SHARE, workerConcurrency = 6 } = {}) {
  const queue = new EndpointQueue(new ManualClock(), () => undefined);
  const tell = (now: string[]): void =>
    queue.update(
      EndpointRotation.fromPartial({
        workerConcurrency,
        requestsPerWorker,
        workers: ['a', 'b', 'c'].map((workerId) => ({
          workerId,
          address: '127.0.0.1:1',
          ready: true,
          surplus: now.includes(workerId),
        })),
      }),
    );
  tell(surplus);
  const take = (): WorkerSlot =>
    queue.tryAcquire({
      workerId: undefined,
      strict: false,
      waitMs: 0,
      isRetry: false,
      signal: new AbortController().signal,
    })!;
  return { tell, take, taken: (count: number) => Array.from({ length: count }, () => take().workerId).join('') };
}

t.test('no surplus worker: the least loaded', async (t) => {
  t.equal(queueOf([]).taken(6), 'abcabc');
});

t.test('surplus workers get nothing while the others are below their share', async (t) => {
  t.equal(queueOf(['b', 'c']).taken(4), 'aaaa');
  t.equal(queueOf(['c']).taken(8), 'abababab');
});

t.test('beyond the share all are used, the least loaded first', async (t) => {
  t.equal(queueOf(['b', 'c']).taken(8), 'aaaabcbc');
  t.equal(queueOf(['b', 'c'], { workerConcurrency: 4 }).taken(12).length, 12, 'whoever has room');
});

t.test('steady load stays on the same workers, so that the others become idle', async (t) => {
  const { tell, take } = queueOf([]);
  const running = [take(), take(), take()];
  t.same(
    running.map(({ workerId }) => workerId),
    ['a', 'b', 'c'],
  );
  tell(['b', 'c']);
  const seen: string[] = [];
  for (let turn = 0; turn < 9; turn += 1) {
    running.shift()!.release();
    const place = take();
    running.push(place);
    seen.push(place.workerId);
  }
  t.same(new Set(seen), new Set(['a']));
});

t.test('a core that sends no share has no surplus workers', async (t) => {
  t.equal(queueOf([], { requestsPerWorker: 0 }).taken(3), 'abc');
});
