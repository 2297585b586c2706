// test: postgres, 20 s
/** kill -9 of the agent and of a worker while 200 jobs are in flight. */
import t from 'tap';
import { startProcesses } from '../helpers/system/processes.ts';
import { checkKill, checkOutcomes, checkRestart, startJobs } from './jobs-in-flight.ts';

t.setTimeout(600_000);

t.test('a killed agent loses no acknowledged job', async (t) => {
  const slipway = await startProcesses(t);
  const [agent] = slipway.agents;
  const inFlight = await startJobs(t, slipway);
  await agent!.kill();
  await agent!.start();
  await checkOutcomes(t, inFlight);
  await checkRestart(t, slipway, agent!, { withinMs: 5_000, fresh: true });
});

t.test('a killed worker loses no acknowledged job', async (t) => {
  const slipway = await startProcesses(t);
  const inFlight = await startJobs(t, slipway);
  const killedAtMs = Date.now();
  const [note] = await inFlight.readNotes();
  process.kill(note!.pid, 'SIGKILL');
  await checkOutcomes(t, inFlight);
  await checkKill(t, slipway, killedAtMs, 5_000);
});
