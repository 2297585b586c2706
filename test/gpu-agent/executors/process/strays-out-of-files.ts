/**
 * Run by a test: starts a worker with a process that leaves its group, opens as many files as it may, and kills the
 * worker. Prints the process, what the worker's processes, its control group and those of a previous agent looked like,
 * and whether it counted as ended before files were closed again; ends after it has ended. The argument `none`:
 * without control groups.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { descendantsOf } from '@slipway/gpu-agent/executors/descendants';
import { ProcessExecutor } from '@slipway/gpu-agent/executors/process/process-executor';
import { WorkloadCgroups } from '@slipway/gpu-agent/executors/process/workload-cgroups';
import { delay, systemClock } from '@slipway/kit/time/clock';
import { PLAIN } from './start-process.ts';

const machineId = (): string => `files${process.pid}`;
const hierarchies = process.argv[2] === 'none' ? [[]] : [];
const cgroups = new WorkloadCgroups(machineId, systemClock, ...(hierarchies as []));
const executor = new ProcessExecutor(systemClock, machineId, cgroups);
const first = Promise.withResolvers<number>();
const worker = executor.start({
  ...PLAIN,
  command: ['sh', '-c', 'setsid sh -c "echo \\$\\$; exec sleep 1000" & wait'],
  workingDirectory: '/',
  env: { PATH: process.env.PATH ?? '/usr/bin:/bin' },
  onOutput: (bytes) => first.resolve(Number(String(bytes))),
});
const stray = await first.promise;
const parent = spawn('sh', ['-c', 'sleep 1000 & wait'], { detached: true, stdio: 'ignore' });
await once(parent, 'spawn');
while ((await descendantsOf(parent.pid!, systemClock)).size === 0);
const group = cgroups.take(parent.pid!, 'parent');
const open: number[] = [];
let fills = true;
const fill = (): void => {
  try {
    while (fills) open.push(openSync('/dev/null', 'r'));
  } catch {
    // There is none left. The end of the worker frees some.
    setImmediate(fill);
  }
};
fill();
const textOf = (error: Error): string => error.message;
const [walk, seen, counted, swept] = await Promise.all([
  descendantsOf(parent.pid!, systemClock).then(({ size }) => size, textOf),
  worker.pids().catch(textOf),
  group?.oomKills().catch(textOf),
  cgroups.sweep().catch(textOf),
]);
process.kill(-parent.pid!, 'SIGKILL');
let hasEnded = false;
const ended = worker.ended.then(() => {
  hasEnded = true;
});
worker.kill();
// Longer than all scans of a list that can be read.
await Promise.race([ended, delay(systemClock, 3_000)]);
const endedEarly = hasEnded;
fills = false;
for (const file of open) closeSync(file);
await ended;
await group?.end();
process.stdout.write(JSON.stringify({ stray, endedEarly, walk, seen, counted, swept }));
