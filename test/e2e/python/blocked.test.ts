// test: postgres, python, 50 s
/**
 * Asynchronous handlers that block their event loop: what was handed over meanwhile is read late, and runs once
 * (docs/reference/worker-protocol.md#ping).
 */

import type { Test } from 'tap';
import t from 'tap';
import { scratch } from '../../helpers/scratch.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { PYTHONS, pythonHandler, skipWithoutPython } from '../../helpers/system/handlers.ts';
import type { System } from '../../helpers/system/system.ts';
import { startSystem } from '../../helpers/system/system.ts';

t.setTimeout(600_000);

/**
 * Seconds in which the worker names none of its new jobs: more than a job that it has read may be missing, by its SDK.
 */
const BLOCKED_S = { new: 36, old: 51 };

const skip = skipWithoutPython('new') || skipWithoutPython('old');

t.test('jobs sent to a worker with a blocked event loop run once', { skip }, async (t) => {
  const system = await startSystem(t);
  await Promise.all(
    (Object.keys(PYTHONS) as (keyof typeof PYTHONS)[]).map((version) => handedWhileBlocked(t, system, version)),
  );
});

async function handedWhileBlocked(t: Test, system: System, version: keyof typeof PYTHONS): Promise<void> {
  const jobs = endpointJobs(
    system,
    await system.createEndpoint({
      command: pythonHandler(version, 'at_once.py'),
      env: { CONCURRENCY: '4' },
      workersMax: 1,
    }),
  );
  const { path, notes, lines } = await scratch(t);
  const note = path('note');
  const blocking = await jobs.run({ note, block: BLOCKED_S[version] });
  await notes('note', 1);
  // It counts from when the job was read; the older SDK lists no jobs that could tell.
  const more = version === 'new' ? { policy: { executionTimeout: 20_000 } } : {};
  const others = await Promise.all([1, 2, 3].map(() => jobs.run({ note }, more)));
  for (const id of [blocking, ...others]) {
    const { status, retries, error } = await jobs.settled(id, 120_000);
    t.equal(status, 'COMPLETED', error);
    t.notOk(retries, 'it was given away once');
    t.equal(lines('note').filter((line) => line === `start ${id}`).length, 1, 'and its handler ran once');
  }
}
