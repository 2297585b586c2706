/** The jobs that concern a replica: one record for all that it knows of a job, dropped when nothing of it is left. */
import { SlotPool } from '@slipway/core/dispatch/slot-pool';
import type { MachineAttempt } from '@slipway/core/domain/jobs/job';
import { LiveJobs } from '@slipway/core/jobs/live-jobs';
import type { ClaimedJob } from '@slipway/core/jobs/slots';
import t from 'tap';

const key = (more: Partial<MachineAttempt> = {}): MachineAttempt => ({
  endpointId: 'e',
  jobId: 'j',
  attempt: 1,
  machineId: 'm',
  ...more,
});

/** Returns a pool with workers of machine `m` that have room for two attempts each. */
function poolOf(live: LiveJobs, ...workerIds: string[]) {
  const pool = new SlotPool(live, { onCapacity: () => undefined, onOrphans: () => undefined });
  const sink = { holdsLease: true, assign: () => undefined };
  for (const workerId of workerIds) {
    pool.attach({ workerId, endpointId: 'e', machineId: 'm' }, sink, []);
    pool.update(workerId, { capacity: 2, open: true });
  }
  const give = (workerId: string): void => pool.assign([{ ...key(), workerId } as ClaimedJob]);
  return { pool, sink, give };
}

t.test('an attempt belongs to the record of its job', async (t) => {
  const live = new LiveJobs();
  const { pool, give } = poolOf(live, 'a');
  const job = live.open('e', 'j');
  give('a');
  const attempt = live.arrive(key());
  t.equal(attempt.job, job);
  t.equal(live.size, 1, 'whoever looks for it finds the same record');
  t.equal(live.attempt(key({ machineId: 'other' })), undefined, 'another machine reports about another attempt');
  t.equal(live.attempt(key({ attempt: 2 })), undefined);
  t.ok(pool.releaseAttempt(attempt), 'its slot is free as soon as its outcome arrives');
  t.notOk(pool.releaseAttempt(attempt), 'once');
  t.ok(live.isArriving(key()));
  live.arrived(attempt);
  t.equal(live.size, 0);
});

t.test('an arrival that ends late touches nothing of the next one', async (t) => {
  const live = new LiveJobs();
  const first = live.arrive(key());
  live.arrived(first);
  const second = live.arrive(key());
  live.arrived(first);
  t.ok(live.isArriving(key()));
  live.close(first.job);
  t.equal(live.attempt(key()), second);
  live.arrived(second);
  t.equal(live.size, 0);
});

t.test('an outcome that is sent again arrives until the last of its uploads has ended', async (t) => {
  const live = new LiveJobs();
  const first = live.arrive(key());
  const again = live.arrive(key());
  live.arrived(first);
  t.ok(live.isArriving(key()), 'its worker may end: it is not lost');
  live.arrived(again);
  t.notOk(live.isArriving(key()));
  t.equal(live.size, 0);
});

t.test('an attempt counts on one worker, the last that names it', async (t) => {
  const live = new LiveJobs();
  const { pool, sink, give } = poolOf(live, 'a', 'b');
  give('a');
  pool.attach({ workerId: 'b', endpointId: 'e', machineId: 'm' }, sink, [{ ...key(), workerId: 'b' }]);
  t.same([pool.heldBy('a'), pool.workerOf(key())], [[], 'b']);
  t.ok(pool.release(key()));
  t.same([pool.busy, live.size], [false, 0]);
});

t.test('with its session go the records of its attempts', async (t) => {
  const live = new LiveJobs();
  const { pool, sink, give } = poolOf(live, 'a');
  give('a');
  t.ok(pool.busy);
  pool.detach('a', sink);
  t.same([pool.busy, pool.holds(key()), live.size], [false, false, 0]);
});
