/** kill -9 of core while 200 jobs are in flight and clients go on submitting. */
import t from 'tap';
import { startProcesses } from '../helpers/processes.ts';
import { checkDrained, checkRestart, land, takeOff } from './flight.ts';

t.setTimeout(120_000);

t.test('core', async (t) => {
  const slipway = await startProcesses(t);
  const [core] = slipway.cores;
  const flight = await takeOff(t, slipway);
  const more = flight.submit(60);
  await core!.kill();
  await core!.start();
  await more;
  await land(t, flight);
  await checkRestart(t, slipway, core!, { withinMs: 10_000 });
});

t.test('one of two cores', async (t) => {
  const slipway = await startProcesses(t, { cores: 2, agents: 2 });
  const flight = await takeOff(t, slipway, { workers: 2 });
  const more = flight.submit(60);
  const killedAtMs = Date.now();
  await slipway.cores[1]!.kill();
  await more;
  await land(t, flight);
  await checkDrained(t, slipway, killedAtMs, 10_000);
});
