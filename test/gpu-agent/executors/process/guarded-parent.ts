/** Run by a test: starts a worker that prints its process id and lives on, then waits to be killed. */

import { ProcessExecutor } from '@slipway/gpu-agent/executors/process/process-executor';
import { WorkloadCgroups } from '@slipway/gpu-agent/executors/process/workload-cgroups';
import { systemClock } from '@slipway/kit/time/clock';
import { NO_LIMITS } from '../../../helpers/no-limits.ts';

// The number of the user it runs as, if it is another one; the id of the machine; whether there are control groups; a
// script of Node, else a shell.
const [uid = 0, machineId = 'machine', cgroups = 'yes', script] = process.argv.slice(2) as [
  number?,
  string?,
  string?,
  string?,
];
const user = Number(uid) === 0 ? undefined : { uid: Number(uid), gid: Number(uid) };
const command = script ? [process.execPath, '-e', script] : ['sh', '-c', 'trap "" TERM; sleep 1000 & echo $$; wait'];
const none = new WorkloadCgroups(() => machineId, systemClock, []);
const worker = new ProcessExecutor(systemClock, () => machineId, ...(cgroups === 'no' ? [none] : [])).start({
  workloadId: 'w',
  entrypoint: [],
  image: undefined,
  mounts: [],
  gpus: [],
  limits: NO_LIMITS,
  user,
  command,
  workingDirectory: '/',
  env: { PATH: process.env.PATH ?? '/usr/bin:/bin' },
  onOutput: (bytes) => process.stdout.write(bytes),
});
await worker.ended;
