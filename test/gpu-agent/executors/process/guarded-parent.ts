/** Run by a test: starts a worker that prints its process id and lives on, then waits to be killed. */
import { systemClock } from '../../../../core/runtime/clock.ts';
import { NO_LIMITS } from '../../../../gpu-agent/executors/executor.ts';
import { ProcessExecutor } from '../../../../gpu-agent/executors/process/process-executor.ts';

// The number of the user it runs as, if it is another one.
const uid = Number(process.argv[2] ?? 0);
const user = uid === 0 ? undefined : { uid, gid: uid };
const command = ['sh', '-c', 'trap "" TERM; sleep 1000 & echo $$; wait'];
const worker = new ProcessExecutor(systemClock).start({
  unitId: 'w', entrypoint: [], image: undefined, mounts: [], gpus: [], limits: NO_LIMITS,
  user, command, workingDirectory: '/', env: { PATH: process.env.PATH ?? '/usr/bin:/bin' },
  onOutput: (bytes) => process.stdout.write(bytes),
});
await worker.ended;
