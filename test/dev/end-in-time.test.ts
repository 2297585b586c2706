/** Processes that should end: one that hangs is killed in the end, and holds nothing up. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { endInTime } from '@slipway/dev/install/end-in-time';
import { systemClock } from '@slipway/kit/time/clock';
import t from 'tap';

t.test('a process that hangs is killed; others end by themselves', async (t) => {
  const ended = spawn('true');
  await once(ended, 'exit');
  const [brief, hanging, missing] = [spawn('sleep', ['0.1']), spawn('sleep', ['600']), spawn('/no/such/program')];
  t.teardown(() => hanging.kill('SIGKILL'));
  await endInTime([ended, brief, hanging, missing], 1_000, systemClock);
  t.equal(brief.exitCode, 0);
  t.equal(hanging.signalCode, 'SIGKILL');
});

t.test('when all have ended, nothing is waited for', async (t) => {
  const cancelled: boolean[] = [];
  const clock = { after: () => ({ cancel: () => void cancelled.push(true) }) };
  await endInTime([spawn('true')], 600_000, clock);
  t.same(cancelled, [true], 'no timer keeps the program');
});
