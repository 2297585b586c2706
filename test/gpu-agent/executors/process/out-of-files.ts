/**
 * Run by a test: opens as many files as it may, then freezes a process group and starts a worker and a helper. Prints
 * how that ended.
 */
import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { freezeGroup } from '@slipway/gpu-agent/executors/process/group-freezer';
import { ProcessExecutor } from '@slipway/gpu-agent/executors/process/process-executor';
import { HelperPool } from '@slipway/gpu-agent/gpu-memory/helper-pool';
import { HelperProcess } from '@slipway/gpu-agent/gpu-memory/helper-process';
import { systemClock } from '@slipway/kit/time/clock';
import { PLAIN } from './start-process.ts';

const executor = new ProcessExecutor(systemClock, () => 'machine');
const helpers = new HelperPool(systemClock, () => new HelperProcess({}));
const start = () =>
  executor.start({
    ...PLAIN,
    command: ['true'],
    workingDirectory: '/',
    env: { PATH: '/usr/bin:/bin' },
    onOutput: () => undefined,
  });
// The first start finds programs of this host.
await start().ended;
const running = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
try {
  for (;;) openSync('/dev/null', 'r');
} catch {
  // There is none left.
}
const frozen = await freezeGroup({
  group: running.pid!,
  guardText: 'its guard',
  candidates: () => [running.pid!],
  isEnding: () => false,
  clock: systemClock,
}).then(
  () => 'frozen',
  (error: Error) => error.message,
);
const { ended } = start();
// More requests than run at the same time: a failed one must make way for the next.
const failures = await Promise.all(Array.from({ length: 20 }, () => helpers.run({ do: 'open' }, { limitMs: 60_000 })));
running.kill('SIGKILL');
process.stdout.write(JSON.stringify([await ended, failures.at(-1), frozen]));
