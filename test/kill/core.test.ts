// test: postgres, 40 s
/** kill -9 of core while 200 jobs are in flight and clients go on submitting. */
import t from 'tap';
import { startProcesses } from '../helpers/system/processes.ts';
import { checkDrained, checkOutcomes, checkRestart, startJobs } from './jobs-in-flight.ts';

t.setTimeout(600_000);

t.test('a killed core loses no acknowledged job', async (t) => {
  const slipway = await startProcesses(t);
  const [core] = slipway.cores;
  const inFlight = await startJobs(t, slipway);
  const more = inFlight.submit(60);
  await core!.kill();
  await core!.start();
  await more;
  await checkOutcomes(t, inFlight);
  await checkRestart(t, slipway, core!, { withinMs: 10_000 });
});

t.test('one killed core of two loses no acknowledged job', async (t) => {
  const slipway = await startProcesses(t, { cores: 2, agents: 2 });
  const inFlight = await startJobs(t, slipway, { workers: 2 });
  const more = inFlight.submit(60);
  const killedAtMs = Date.now();
  await slipway.cores[1]!.kill();
  await more;
  await checkOutcomes(t, inFlight);
  await checkDrained(t, slipway, killedAtMs, 10_000);
});
