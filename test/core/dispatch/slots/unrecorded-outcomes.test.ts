/** A worker with too many outcomes that are not recorded yet gets no jobs, and gets them again when they are. */

import type { AssignmentSink } from '@slipway/core/dispatch/slot-pool';
import { SlotPool } from '@slipway/core/dispatch/slot-pool';
import type { WorkerSlots } from '@slipway/core/dispatch/worker-slots';
import { UNRECORDED_MAX } from '@slipway/core/dispatch/worker-slots';
import { LiveJobs } from '@slipway/core/jobs/live-jobs';
import type { ClaimedJob } from '@slipway/core/jobs/slots';
import t from 'tap';

/** Returns a pool with an open worker `a` of so many slots. */
function setup(capacity = 2) {
  const live = new LiveJobs();
  const room: string[] = [];
  const lease = { held: true };
  const pool = new SlotPool(live, { onCapacity: (endpointId) => room.push(endpointId), onOrphans: () => undefined });
  const newSink = (): AssignmentSink => ({
    get holdsLease() {
      return lease.held;
    },
    assign: () => undefined,
  });
  const attach = (workerId: string): AssignmentSink => {
    const sink = newSink();
    pool.attach({ workerId, endpointId: 'e', machineId: 'm' }, sink, []);
    return sink;
  };
  const sink = attach('a');
  pool.update('a', { capacity, open: true });
  let jobs = 0;
  /** Gives jobs to a worker, claimed before. */
  const give = (count: number, more: Partial<ClaimedJob> = {}): string[] => {
    const ids = Array.from({ length: count }, () => String((jobs += 1)));
    const job = { endpointId: 'e', attempt: 1, workerId: 'a', machineId: 'm', inputSize: 0, ...more };
    pool.assign(ids.map((jobId) => ({ ...job, jobId }) as ClaimedJob));
    return ids;
  };
  /** The outcome of a job arrives. */
  const end = (jobId: string): WorkerSlots => {
    const worker = pool.releaseAttempt(live.arrive({ endpointId: 'e', jobId, attempt: 1, machineId: 'm' }))!;
    pool.countUnrecorded(worker, 1);
    return worker;
  };
  /** Claims and ends so many jobs, one after the other. */
  const run = (count: number): WorkerSlots => {
    let worker: WorkerSlots | undefined;
    for (let ended = 0; ended < count; ended += 1) {
      if (pool.reserve('e', 1).length < 1) throw new Error(`no job is claimed when ${ended} have ended`);
      worker = end(give(1)[0]!);
    }
    room.length = 0;
    return worker!;
  };
  return { pool, room, lease, sink, attach, give, end, run };
}

t.test('no job is claimed while too many outcomes are not recorded', async (t) => {
  const { pool, room, run } = setup();
  const worker = run(UNRECORDED_MAX + 1);
  t.same([pool.hasCapacity('e'), pool.endpointsWithCapacity(), pool.reserve('e', 9)], [false, [], []]);
  pool.countUnrecorded(worker, -1);
  t.same(room, ['e'], 'its slots are offered as soon as one is recorded');
  pool.countUnrecorded(worker, -1);
  t.same(room, ['e'], 'once');
  t.equal(pool.reserve('e', 9).length, 2);
});

t.test('other workers of the endpoint get jobs meanwhile', async (t) => {
  const { pool, attach, run } = setup();
  run(UNRECORDED_MAX + 1);
  attach('b');
  pool.update('b', { capacity: 1, open: true });
  t.notOk(pool.hasOtherCapacity('e', 'b'), 'none could begin its prefetched jobs');
  t.same(
    pool.reserve('e', 9).map(({ workerId }) => workerId),
    ['b'],
  );
});

t.test('a worker with many slots may end a job in each at once', async (t) => {
  const capacity = 2 * UNRECORDED_MAX;
  const { pool, room, run, end, give } = setup(capacity);
  const worker = run(capacity);
  t.equal(pool.reserve('e', 1).length, 1);
  end(give(1)[0]!);
  t.same(pool.reserve('e', 1), []);
  room.length = 0;
  pool.update('a', { capacity: capacity + 1, open: true });
  t.equal(pool.reserve('e', 1).length, 1, 'with one slot more');
  pool.update('a', { capacity: 1, open: true });
  t.same([room.length, pool.hasCapacity('e')], [1, false], 'with one slot in all');
  give(1);
  while (worker.unrecorded > UNRECORDED_MAX) pool.countUnrecorded(worker, -1);
  t.same(pool.reserve('e', 1), [], 'its slot is taken');
});

t.test('a worker that is closed or without a lease is offered when it may get jobs again', async (t) => {
  const { pool, room, lease, run } = setup();
  const worker = run(UNRECORDED_MAX + 1);
  pool.update('a', { capacity: 2, open: false });
  pool.countUnrecorded(worker, -1);
  t.same([room, pool.reserve('e', 1)], [[], []], 'closed');
  pool.countUnrecorded(worker, 1);
  pool.update('a', { capacity: 2, open: true });
  lease.held = false;
  pool.countUnrecorded(worker, -1);
  t.same([room, pool.reserve('e', 1)], [[], []], 'without a lease');
  lease.held = true;
  pool.update('a', { capacity: 2, open: true });
  t.same([room, pool.reserve('e', 9).length], [['e'], 2]);
});

t.test('outcomes of an ended session count until they are recorded, if its worker was kept', async (t) => {
  const { pool, room, sink, attach, run, end, give } = setup();
  run(UNRECORDED_MAX - 1);
  const reserved = pool.reserve('e', 2);
  const worker = end(give(1)[0]!);
  pool.detach('a', sink);
  attach('a');
  pool.update('a', { capacity: 2, open: true });
  pool.countUnrecorded(worker, 1);
  pool.unreserve(reserved.slice(1));
  room.length = 0;
  t.same(pool.reserve('e', 1), []);
  pool.countUnrecorded(worker, -1);
  t.same([room, pool.reserve('e', 9).length], [['e'], 2]);
});

t.test('outcomes of an ended session do not count for a worker that came back anew', async (t) => {
  const { pool, room, sink, attach, run } = setup();
  const before = run(UNRECORDED_MAX + 1);
  pool.detach('a', sink);
  pool.countUnrecorded(before, -1);
  t.same([room, pool.endpointsWithCapacity()], [[], []], 'nothing is offered for a worker without a session');
  attach('a');
  pool.update('a', { capacity: 2, open: true });
  const after = run(1);
  t.not(after, before);
  for (let count = 0; count < UNRECORDED_MAX; count += 1) pool.countUnrecorded(before, -1);
  t.same([before.unrecorded, after.unrecorded, room], [0, 1, []]);
  t.equal(pool.reserve('e', 9).length, 2);
});

t.test('nothing is prefetched meanwhile, and the refill follows', async (t) => {
  const { pool, room, run, end, give } = setup();
  const worker = run(UNRECORDED_MAX - 2);
  pool.update('a', { capacity: 2, open: true, agentPrefetches: true });
  const taken = pool.reserve('e', 2);
  t.equal(pool.reservePrefetch('e', taken, () => 6).length, 6);
  const ids = [...give(2), ...give(6, { prefetched: true })];
  room.length = 0;
  for (const id of ids.slice(0, 3)) end(id);
  t.same([room, pool.runningLow('e')], [[], []]);
  end(ids[3]!);
  t.same([room, pool.runningLow('e'), pool.reservePrefetch('e', [], () => 6)], [[], [], []], 'less than half is left');
  pool.countUnrecorded(worker, -1);
  t.same(room, [], 'one more than may wait');
  pool.countUnrecorded(worker, -1);
  t.same([room, pool.runningLow('e').length], [['e'], 1]);
  t.equal(pool.reservePrefetch('e', [], () => 6).length, 4);
});
