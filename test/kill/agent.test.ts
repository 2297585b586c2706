/** kill -9 of the agent and of a worker while 200 jobs are in flight. */
import t from 'tap';
import { startProcesses } from '../helpers/processes.ts';
import { checkKill, checkRestart, land, takeOff } from './flight.ts';

t.setTimeout(120_000);

t.test('agent', async (t) => {
  const slipway = await startProcesses(t);
  const [agent] = slipway.agents;
  const flight = await takeOff(t, slipway);
  await agent!.kill();
  await agent!.start();
  await land(t, flight);
  await checkRestart(t, slipway, agent!, { withinMs: 3_000, fresh: true });
});

t.test('worker', async (t) => {
  const slipway = await startProcesses(t);
  const flight = await takeOff(t, slipway);
  const killedAtMs = Date.now();
  const [note] = await flight.readNotes();
  process.kill(note!.pid, 'SIGKILL');
  await land(t, flight);
  await checkKill(t, slipway, killedAtMs, 3_000);
});
