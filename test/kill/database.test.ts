// test: postgres, 20 s
/** kill -9 of PostgreSQL while 200 jobs are in flight and clients go on submitting. */
import t from 'tap';
import { startProcesses } from '../helpers/system/processes.ts';
import { checkOutcomes, checkRestart, startJobs } from './jobs-in-flight.ts';

t.setTimeout(600_000);

t.test('a killed PostgreSQL loses no acknowledged job', async (t) => {
  const slipway = await startProcesses(t);
  const inFlight = await startJobs(t, slipway);
  const more = inFlight.submit(60);
  await slipway.database.kill();
  await slipway.database.start();
  await more;
  await checkOutcomes(t, inFlight);
  await checkRestart(t, slipway, slipway.database, { withinMs: 10_000 });
});
