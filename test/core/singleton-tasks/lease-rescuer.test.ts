// test: postgres
/**
 * Leases: attempts of a machine whose lease has ended go back, by whichever replica is first, and never those of a
 * machine that is alive.
 */

import { LeaseRescuer } from '@slipway/core/singleton-tasks/lease-rescuer';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import t from 'tap';
import { logger, outcome, runningJob, startEngines } from '../../helpers/system/job-engine.ts';
import { ManualClock } from '../../helpers/time/manual-clock.ts';

const engines = await startEngines(t, { replicas: 2, idle: true });
const { engine, sql } = engines;
const rescuers = engines.replicas.map(
  ({ stores, engine }) =>
    new LeaseRescuer({ stores, attempts: engine.attempts, clock: systemClock, random: systemRandom, logger }),
);
const rescue = async (): Promise<number> =>
  (await Promise.all(rescuers.map((rescuer) => rescuer.runOnce()))).reduce((sum, count) => sum + count, 0);

t.test('only ended leases are rescued, once', async (t) => {
  const endpointId = await engines.endpoint();
  const dead = await engines.machine(-1);
  const alive = await engines.machine(60_000);
  const lost = [await runningJob(engines, endpointId, {}, dead)];
  const kept = await runningJob(engines, endpointId, {}, alive);
  lost.push(await runningJob(engines, endpointId, {}, 'nosuchmachin'));
  t.equal(await rescue(), 2, 'one ended lease, one machine that is gone');
  t.equal(await rescue(), 0);
  for (const job of lost)
    t.match(await engine.calls.get(job, { omitOutput: true, ttlMs: 0 }), { state: 'IN_QUEUE', retries: 1 });
  t.equal((await engine.calls.get(kept, { omitOutput: true, ttlMs: 0 })).state, 'IN_PROGRESS');
  t.equal(
    await engine.attempts.recordOutcome(outcome(lost[0]!)),
    'stale',
    'the machine that comes back has lost the job',
  );
});

t.test('at the limit the job fails and says which machine', async (t) => {
  const endpointId = await engines.endpoint({ retry_limit: 0 });
  const dead = await engines.machine(-1);
  const job = await runningJob(engines, endpointId, {}, dead);
  t.equal(await rescue(), 1);
  t.match(await engine.calls.get(job, { omitOutput: true, ttlMs: 0 }), {
    state: 'FAILED',
    error: 'its machine stopped answering',
  });
});

t.test('a lease that was extended in time is left alone', async (t) => {
  const endpointId = await engines.endpoint();
  const machineId = await engines.machine(-1);
  const job = await runningJob(engines, endpointId, {}, machineId);
  await sql`UPDATE machine SET lease_expires_at = now() + interval '10 s' WHERE id = ${machineId}`;
  t.equal(await rescue(), 0);
  t.equal((await engine.calls.get(job, { omitOutput: true, ttlMs: 0 })).state, 'IN_PROGRESS');
});

t.test('one late answer of the database delays attempts of removed machines by a minute at most', async (t) => {
  const clock = new ManualClock();
  const stored = engines.replicas[0]!.stores.attempts;
  let lateMs = 5_000;
  const attempts = {
    expiredLeases: (limit: number) => stored.expiredLeases(limit),
    ofGoneMachines: async (limit: number) => {
      const gone = await stored.ofGoneMachines(limit);
      clock.pass(lateMs);
      return gone;
    },
  };
  const rescuer = new LeaseRescuer({
    stores: { attempts },
    attempts: engine.attempts,
    clock,
    random: systemRandom,
    logger,
  });
  t.equal(await rescuer.runOnce(), 0);
  lateMs = 0;
  const job = await runningJob(engines, await engines.endpoint(), {}, 'nosuchmachin');
  clock.pass(59_999);
  t.equal(await rescuer.runOnce(), 0, 'the scan pauses');
  clock.pass(1);
  t.equal(await rescuer.runOnce(), 1);
  t.match(await engine.calls.get(job, { omitOutput: true, ttlMs: 0 }), { state: 'IN_QUEUE', retries: 1 });
});
