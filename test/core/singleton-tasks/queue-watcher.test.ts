// test: postgres
/** The check of queues: one late answer of the database does not delay it, and a slow database is not loaded by it. */

import { QueueCursors } from '@slipway/core/jobs/submit/queue-cursors';
import { QueueWatcher } from '@slipway/core/singleton-tasks/queue-watcher';
import { systemRandom } from '@slipway/kit/time/clock';
import type { Test } from 'tap';
import t from 'tap';
import { logger, startEngines, submission } from '../../helpers/system/job-engine.ts';
import { ManualClock } from '../../helpers/time/manual-clock.ts';

const engines = await startEngines(t, { idle: true });
const { engine, stores, events } = engines;

/** Makes a watcher of one endpoint whose queue seems to be empty. */
async function watcherOf(_: Test) {
  const endpointId = await engines.endpoint();
  const clock = new ManualClock();
  const cursors = new QueueCursors(clock);
  cursors.learn(endpointId, cursors.plan(endpointId)!, { asked: 1, claims: [], tookMs: 0 });
  const database = { lateMs: 0, checks: 0 };
  const claims = {
    queuedEndpoints: async (ids: readonly string[]) => {
      const found = await stores.claims.queuedEndpoints(ids);
      database.checks += 1;
      clock.pass(database.lateMs);
      return found;
    },
  };
  const watcher = new QueueWatcher({ stores: { claims }, events, cursors, clock, random: systemRandom, logger });
  /** Lets time pass, in which dispatch still asks for jobs, and checks. */
  const after = (ms: number): Promise<string[]> => {
    clock.pass(ms);
    cursors.wanted(endpointId);
    return watcher.runOnce();
  };
  return { endpointId, clock, database, after };
}

t.test('one late answer of the database delays no further check', async (t) => {
  const { endpointId, database, after } = await watcherOf(t);
  t.same(await after(1_000), []);
  database.lateMs = 8_000;
  t.same(await after(1_000), []);
  database.lateMs = 0;
  await engine.calls.submit(submission(endpointId));
  t.same(await after(1_000), [endpointId]);
});

t.test(
  'a database that stays slow is loaded for a small part of the time, and at once checked again when it is quick',
  async (t) => {
    const { endpointId, clock, database, after } = await watcherOf(t);
    const beganAtMs = clock.monotonicMs();
    database.lateMs = 5_000;
    while (clock.monotonicMs() - beganAtMs < 3_600_000) await after(1_000);
    const share = (database.checks * database.lateMs) / (clock.monotonicMs() - beganAtMs);
    t.ok(share < 0.06, `${share}`);
    t.ok(share > 0.04, `${share}`);
    database.lateMs = 60_000;
    await after(120_000);
    database.lateMs = 0;
    const { checks } = database;
    await after(120_000);
    t.equal(database.checks, checks + 1, 'no pause is longer than two minutes');
    await engine.calls.submit(submission(endpointId));
    t.same(await after(1_000), [endpointId]);
  },
);
