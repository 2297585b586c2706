/** Workers that end leave the slot pool, even if their last results are still in transit. */

import type { WorkerReports } from '@slipway/core/dispatch/reports/worker-reports';
import { SessionWorkers } from '@slipway/core/dispatch/session/session-workers';
import type { AssignmentSink, HeldAttempt } from '@slipway/core/dispatch/slot-pool';
import { SlotPool } from '@slipway/core/dispatch/slot-pool';
import { LiveJobs } from '@slipway/core/jobs/live-jobs';
import type { ClaimedJob } from '@slipway/core/jobs/slots';
import { createLogger } from '@slipway/kit/log/logger';
import { WorkerReport } from '@slipway/proto/gen/slipway/v1/agent_service';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';

const report = (state: WorkerState, capacity: number): WorkerReport =>
  WorkerReport.fromPartial({ workerId: 'w', endpointId: 'e', state, capacity });
const attempt: HeldAttempt = { endpointId: 'e', jobId: 'j', attempt: 1, workerId: 'w', machineId: 'm' };

/**
 * Returns a session of an agent with the worker `w`, ready for one job. `end` ends the worker and lets the time pass
 * for which core waits for its last results.
 */
function setup(live = new LiveJobs(), pool = new SlotPool(live, { onCapacity: () => {}, onOrphans: () => {} })) {
  const lost: (readonly object[])[] = [];
  const clock = new ManualClock();
  const sink: AssignmentSink = { holdsLease: true, assign: () => {} };
  const workers = new SessionWorkers(sink, new Map([['w', 'e']]), {
    machineId: 'm',
    sessionId: 's',
    pool,
    live,
    clock,
    onRefresh: () => {},
    logger: createLogger('test', 'silent'),
    reports: { changed: () => {}, capacityChanged: () => {} } as unknown as WorkerReports,
    attempts: { loseAttempts: async (_holder, kept) => lost.push(kept) },
  });
  const give = (): void => {
    const claimed = pool.reserve('e', 1).map((slot) => ({ ...slot, jobId: 'j', attempt: 1 }) as ClaimedJob);
    pool.assign(claimed);
  };
  const end = async (): Promise<void> => {
    workers.report([report(WorkerState.STOPPED, 0)]);
    clock.pass(60_000);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  };
  return { live, pool, lost, workers, give, end };
}

/** Returns a READY worker that holds an attempt whose result is in transit. */
function busy() {
  const session = setup();
  session.workers.begin([report(WorkerState.READY, 1)], []);
  session.workers.desire([
    { id: 'w', endpointId: 'e', machineId: 'm', desired: 'RUN', standbyLevel: 'GPU', idle: false },
  ]);
  session.give();
  return { ...session, arriving: session.live.arrive(attempt) };
}

t.test('a worker that ends while its result is arriving leaves the pool with it', async (t) => {
  const { pool, lost, workers, end } = busy();
  await end();
  t.same([lost, workers.ids()], [[], []]);
  t.ok(pool.holds(attempt), 'its attempt is not lost');
  t.same(pool.reserve('e', 1), [], 'and it gets no more work');
  t.ok(pool.release(attempt));
  t.equal(pool.hasWorker('e'), false, 'so other replicas claim the queued jobs');
});

t.test('or with its session', async (t) => {
  const { pool, workers, end } = busy();
  await end();
  workers.end();
  t.equal(pool.hasWorker('e'), false);
  t.equal(pool.holds(attempt), false);
});

t.test('an ended worker loses outcomes that have not begun to arrive', async (t) => {
  const { live, pool, arriving, lost, end } = busy();
  live.arrived(arriving);
  await end();
  t.same(lost, [[]]);
  t.equal(pool.hasWorker('e'), false);
});

t.test('an ended worker hides no queued job while its last results arrive', async (t) => {
  const { pool, workers } = setup();
  workers.begin([report(WorkerState.READY, 1)], []);
  t.equal(pool.hasWorker('e'), true);
  workers.report([report(WorkerState.STOPPED, 0)]);
  t.equal(pool.hasWorker('e'), false);
});

t.test('a worker of a previous agent run is dropped with its last result', async (t) => {
  const first = setup();
  first.workers.begin([], [attempt]);
  t.equal(first.pool.workerOf(attempt), 'w', 'what the agent holds is counted');
  t.ok(first.pool.release(attempt));
  t.equal(first.pool.hasWorker('e'), false);
  const second = setup();
  second.workers.begin([], [attempt]);
  second.workers.end();
  t.equal(second.pool.hasWorker('e'), false, 'or with the session');
});

t.test('a late extension of an ended session changes nothing in the next one', async (t) => {
  const desired = {
    id: 'w',
    endpointId: 'e',
    machineId: 'm',
    desired: 'RUN',
    standbyLevel: 'GPU',
    idle: false,
  } as const;
  const first = setup();
  const second = setup(first.live, first.pool);
  for (const [{ workers }, capacity] of [
    [first, 1],
    [second, 3],
  ] as const) {
    workers.begin([report(WorkerState.READY, capacity)], []);
    workers.desire([desired]);
  }
  first.workers.end();
  const slots = first.pool.reserve('e', 1);
  first.workers.fence();
  first.pool.assign(slots.map((slot) => ({ ...slot, jobId: 'j', attempt: 1 }) as ClaimedJob));
  t.ok(first.pool.holds(attempt), 'a claim in flight is sent');
  t.equal(first.pool.reserve('e', 5).length, 2, 'the worker has the capacity that it reported last');
});
