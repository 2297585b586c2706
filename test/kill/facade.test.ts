// test: postgres, 20 s
/** kill -9 of the facade while 200 jobs are in flight and clients go on submitting. */
import t from 'tap';
import { startProcesses } from '../helpers/system/processes.ts';
import { checkOutcomes, startJobs } from './jobs-in-flight.ts';

t.setTimeout(600_000);

t.test('a killed facade loses no acknowledged job', async (t) => {
  const slipway = await startProcesses(t);
  const inFlight = await startJobs(t, slipway);
  const more = inFlight.submit(60);
  await slipway.facade.kill();
  await t.rejects(inFlight.jobs.health(), 'nobody listens');
  await slipway.facade.start();
  await inFlight.jobs.runSync({ number: -1, ms: 0, gate: slipway.folder, notes: `${slipway.folder}/other-notes` });
  const ms = Date.now() - slipway.facade.readyAtMs;
  t.comment(`recovery: a job was submitted and completed ${ms} ms after the facade was up again`);
  t.ok(ms <= 10_000, 'a job is submitted and completed within 10000 ms');
  await more;
  await checkOutcomes(t, inFlight, 1);
});
