/** Free slots by core's own count: never more than capacity, spread over workers, across reconnects. */

import type { AssignmentSink } from '@slipway/core/dispatch/slot-pool';
import { SlotPool } from '@slipway/core/dispatch/slot-pool';
import { LiveJobs } from '@slipway/core/jobs/live-jobs';
import type { ClaimedJob, Slot } from '@slipway/core/jobs/slots';
import t from 'tap';

const slot = (workerId: string, endpointId = 'e'): Slot => ({ workerId, endpointId, machineId: 'm' });
const job = (jobId: string, workerId: string, fence?: number): ClaimedJob => ({
  fence,
  endpointId: 'e',
  jobId,
  attempt: 1,
  workerId,
  machineId: 'm',
  input: undefined,
  inputSize: 0,
  s3ConfigSealed: undefined,
});

function setup() {
  const sent: string[] = [];
  const orphans: string[] = [];
  const room: string[] = [];
  const lease = { held: true };
  const sink = (): AssignmentSink => ({
    get holdsLease() {
      return lease.held;
    },
    assign: (jobs) => {
      sent.push(...jobs.map((claimed) => claimed.jobId));
    },
  });
  const pool = new SlotPool(new LiveJobs(), {
    onCapacity: (endpointId) => {
      room.push(endpointId);
    },
    onOrphans: (jobs) => {
      orphans.push(...jobs.map((claimed) => claimed.jobId));
    },
  });
  return { pool, sent, orphans, room, sink, lease };
}

t.test('spreads over workers and never exceeds capacity', async (t) => {
  const { pool, sink } = setup();
  for (const id of ['a', 'b', 'c']) {
    pool.attach(slot(id), sink(), []);
    pool.update(id, { capacity: 2, open: true });
  }
  t.same(
    pool
      .reserve('e', 3)
      .map((taken) => taken.workerId)
      .sort(),
    ['a', 'b', 'c'],
  );
  t.equal(pool.reserve('e', 10).length, 3, 'the other half');
  t.same(pool.reserve('e', 1), [], 'nothing is left');
  t.same(pool.reserve('other', 1), []);
});

t.test('under low load the same workers get all jobs, so that the others become idle', async (t) => {
  const { pool, sink } = setup();
  const session = sink();
  for (const id of ['a', 'b', 'c']) {
    pool.attach(slot(id), session, []);
    pool.update(id, { capacity: 1, open: true });
  }
  const begin = (number: number): string => {
    const [taken] = pool.reserve('e', 1);
    pool.assign([job(String(number), taken!.workerId)]);
    return taken!.workerId;
  };
  const end = (number: number): boolean =>
    pool.release({ endpointId: 'e', jobId: String(number), attempt: 1, machineId: 'm' });
  for (let number = 0; number < 20; number += 1) {
    t.equal(begin(number), 'a', 'one at a time');
    // A worker asks again and again while it has nothing to do.
    for (const id of ['c', 'b']) {
      pool.update(id, { capacity: 1, open: false });
      pool.update(id, { capacity: 1, open: true });
    }
    end(number);
  }
  const used = new Set<string>();
  begin(100);
  for (let number = 101; number < 120; number += 1) {
    used.add(begin(number));
    end(number - 1);
  }
  t.same([...used].sort(), ['a', 'b'], 'two at a time');
});

t.test('a worker with several slots gets another job only if no worker has fewer', async (t) => {
  const { pool, sink } = setup();
  const session = sink();
  for (const [id, capacity] of [
    ['a', 3],
    ['b', 2],
    ['c', 1],
  ] as const) {
    pool.attach(slot(id), session, []);
    pool.update(id, { capacity, open: true });
  }
  const next = (): string =>
    pool
      .reserve('e', 1)
      .map(({ workerId }) => workerId)
      .join();
  t.same([next(), next(), next(), next(), next(), next(), next()], ['a', 'b', 'c', 'a', 'b', 'a', '']);
  pool.unreserve([slot('b')]);
  t.same([next(), next()], ['b', '']);
});

t.test('workers that come and go leave nothing behind', async (t) => {
  const { pool, sink } = setup();
  const session = sink();
  pool.attach(slot('stays'), session, []);
  pool.update('stays', { capacity: 1, open: true });
  for (let number = 0; number < 5_000; number += 1) {
    pool.attach(slot(`w${number}`), session, []);
    pool.update(`w${number}`, { capacity: 2, open: true });
    t.ok(pool.hasOtherCapacity('e', 'stays'));
    pool.detach(`w${number}`, session);
  }
  t.notOk(pool.hasOtherCapacity('e', 'stays'));
  t.same(
    pool.reserve('e', 9).map(({ workerId }) => workerId),
    ['stays'],
  );
  t.same([pool.hasCapacity('e'), pool.endpointsWithCapacity()], [false, []]);
});

t.test('a slot is freed by its release or by the end of its attempt', async (t) => {
  const { pool, sent, sink } = setup();
  pool.attach(slot('a'), sink(), []);
  pool.update('a', { capacity: 1, open: true });
  pool.unreserve(pool.reserve('e', 1));
  t.equal(pool.reserve('e', 1).length, 1);
  pool.assign([job('j1', 'a')]);
  t.same(sent, ['j1']);
  t.same(pool.reserve('e', 1), [], 'held');
  t.equal(
    pool.release({ endpointId: 'e', jobId: 'j1', attempt: 2, machineId: 'm' }),
    false,
    'another attempt frees nothing',
  );
  t.equal(pool.release({ endpointId: 'e', jobId: 'j1', attempt: 1, machineId: 'm' }), true);
  t.equal(pool.release({ endpointId: 'e', jobId: 'j1', attempt: 1, machineId: 'm' }), false, 'once');
  t.equal(pool.reserve('e', 2).length, 1);
});

t.test('a closed worker offers no slots until it reports capacity again', async (t) => {
  const { pool, room, sink } = setup();
  pool.attach(slot('a'), sink(), []);
  pool.update('a', { capacity: 1, open: true });
  pool.update('a', { capacity: 1, open: false });
  t.same(pool.reserve('e', 1), []);
  room.length = 0;
  pool.update('a', { capacity: 1, open: true });
  t.same(room, ['e']);
  t.equal(pool.reserve('e', 1).length, 1);
});

t.test('a claim whose session has gone comes back as an orphan', async (t) => {
  const { pool, sent, orphans, sink } = setup();
  const session = sink();
  pool.attach(slot('a'), session, []);
  pool.update('a', { capacity: 1, open: true });
  pool.reserve('e', 1);
  pool.detach('a', session);
  pool.assign([job('j1', 'a')]);
  t.same(orphans, ['j1']);
  t.same(sent, []);
  t.equal(pool.hasWorker('e'), false, 'nothing is left of it');
});

t.test('a reconnect keeps reserved slots and held attempts', async (t) => {
  const { pool, sent, orphans, sink } = setup();
  const first = sink();
  pool.attach(slot('a'), first, []);
  pool.update('a', { capacity: 3, open: true });
  const [taken] = pool.reserve('e', 1);
  const second = sink();
  pool.attach(slot('a'), second, [{ endpointId: 'e', jobId: 'j0', attempt: 1, workerId: 'a', machineId: 'm' }]);
  pool.detach('a', first);
  pool.update('a', { capacity: 3, open: true });
  t.equal(pool.reserve('e', 5).length, 1, 'one is held, one is out');
  pool.assign([job('j1', 'a', taken!.fence)]);
  t.same([sent, orphans], [[], ['j1']], 'the claim of the first session goes back to the queue');
  t.same(
    pool.heldBy('a').map((held) => held.jobId),
    ['j0'],
  );
  t.equal(pool.reserve('e', 5).length, 1, 'its slot is free');
  t.equal(pool.workerOf({ endpointId: 'e', jobId: 'j0', attempt: 1, machineId: 'm' }), 'a');
});

t.test('without a lease nothing is reserved, and a claim goes back to the queue', async (t) => {
  const { pool, sent, orphans, sink, lease } = setup();
  pool.attach(slot('a'), sink(), []);
  pool.update('a', { capacity: 2, open: true });
  const [taken] = pool.reserve('e', 1);
  lease.held = false;
  t.same(pool.reserve('e', 1), []);
  pool.assign([job('j1', 'a', taken!.fence)]);
  t.same([sent, orphans, pool.hasCapacity('e')], [[], ['j1'], false]);
  lease.held = true;
  pool.update('a', { capacity: 2, open: true });
  t.equal(pool.reserve('e', 5).length, 2);
});

t.test('a lowered capacity revokes nothing and offers nothing new', async (t) => {
  const { pool, sink } = setup();
  pool.attach(slot('a'), sink(), []);
  pool.update('a', { capacity: 2, open: true });
  pool.reserve('e', 2);
  pool.assign([job('j1', 'a'), job('j2', 'a')]);
  pool.update('a', { capacity: 1, open: true });
  pool.release({ endpointId: 'e', jobId: 'j1', attempt: 1, machineId: 'm' });
  t.same(pool.reserve('e', 1), []);
  pool.release({ endpointId: 'e', jobId: 'j2', attempt: 1, machineId: 'm' });
  t.equal(pool.reserve('e', 2).length, 1);
});

t.test('taking stays cheap with many workers', async (t) => {
  const { pool, sink } = setup();
  const session = sink();
  for (let i = 0; i < 5_000; i += 1) {
    pool.attach(slot(`w${i}`), session, []);
    pool.update(`w${i}`, { capacity: 1, open: true });
  }
  const seen = new Set<string>();
  for (let i = 0; i < 5_000; i += 1) for (const taken of pool.reserve('e', 1)) seen.add(taken.workerId);
  t.equal(seen.size, 5_000, 'each once');
});

t.test("an agent's prefetch is refilled at half, and is no capacity for others", async (t) => {
  const { pool, room, sink } = setup();
  pool.attach(slot('a'), sink(), []);
  pool.update('a', { capacity: 2, open: true, agentPrefetches: true });
  const end = (id: string): boolean => pool.release({ endpointId: 'e', jobId: id, attempt: 1, machineId: 'm' });
  const taken = pool.reserve('e', 5);
  const asked: number[] = [];
  const prefetched = pool.reservePrefetch('e', taken, (slots) => {
    asked.push(slots);
    return 4;
  });
  t.same([taken.length, prefetched.length, asked], [2, 4, [2]]);
  pool.assign([
    ...['1', '2'].map((id) => job(id, 'a')),
    ...['3', '4', '5', '6'].map((id) => ({ ...job(id, 'a'), prefetched: true })),
  ]);
  room.length = 0;
  end('1');
  end('2');
  t.same(room, [], 'half is left');
  end('3');
  t.same(room, ['e']);
  end('4');
  t.same(room, ['e'], 'said once');
  t.same(pool.reserve('e', 5), [], 'it has all that it can hold');
  t.same(
    pool.runningLow('e'),
    [{ jobId: '6', inputSize: 0 }],
    'what it was given last, without its input, which nobody needs any more',
  );
  t.equal(pool.reservePrefetch('e', [], () => 4).length, 4, 'what is missing');
  t.same(pool.runningLow('e'), []);
});

t.test('an empty refill is not repeated with every outcome', async (t) => {
  const { pool, room, sink } = setup();
  pool.attach(slot('a'), sink(), []);
  pool.update('a', { capacity: 1, open: true, agentPrefetches: true });
  const all = [...pool.reserve('e', 1), ...pool.reservePrefetch('e', pool.reserve('e', 0), () => 0)];
  t.equal(all.length, 1);
  pool.unreserve(pool.reservePrefetch('e', all, () => 8));
  pool.assign([job('1', 'a')]);
  room.length = 0;
  pool.release({ endpointId: 'e', jobId: '1', attempt: 1, machineId: 'm' });
  t.same([room, pool.runningLow('e')], [['e'], []], 'there is room, and no more than that');
});

t.test('a worker that stopped prefetching gets no unrequested jobs', async (t) => {
  const { pool, sink } = setup();
  pool.attach(slot('a'), sink(), []);
  pool.update('a', { capacity: 1, open: true, agentPrefetches: true });
  const taken = [...pool.reserve('e', 1), ...pool.reservePrefetch('e', [slot('a')], () => 2)];
  pool.assign(taken.map((_, index) => ({ ...job(String(index), 'a'), prefetched: index > 0 })));
  for (const jobId of ['0', '1']) pool.release({ endpointId: 'e', jobId, attempt: 1, machineId: 'm' });
  t.equal(pool.runningLow('e').length, 1);
  pool.update('a', { capacity: 1, open: true, acceptsPrefetch: true });
  t.same(
    pool.reservePrefetch('e', [], (slots) => 4 * slots),
    [],
  );
});
