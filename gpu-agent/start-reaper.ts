/**
 * Starts the process that ends the containers of an agent that dies and does not come back (reaper.ts). Until the agent
 * ends it is a shell that waits for a pipe to close, which costs next to nothing.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { NODE_ENVIRONMENT, NODE_FLAGS } from '@slipway/kit/host/node-settings';

/**
 * Script of that shell. It first leaves the service's control group if possible: systemd ends everything in the group,
 * and would wait for this process at every restart. Then it waits for the end of the agent, and becomes the reaper.
 */
const WAIT = `
for root in /sys/fs/cgroup /sys/fs/cgroup/systemd; do
  [ -e "$root/cgroup.procs" ] && mkdir -p "$root/slipway" && echo $$ >"$root/slipway/cgroup.procs"
done 2>/dev/null
cat >/dev/null
exec "$@"
`;

/** The agent whose containers the reaper ends. */
interface ReaperTask {
  dataDir: string;
  /** Folder of network volumes. */
  volumesDir: string;
  /** Path of the engine's socket. */
  socket: string;
  machineId: string;
  /** Name of this run of the agent. */
  instance: string;
}

/** Starts the reaper. Returns a function that calls it off: nothing is left to be ended. */
export function startReaper({ dataDir, volumesDir, socket, machineId, instance }: ReaperTask): () => void {
  const program = [process.execPath, ...NODE_FLAGS, join(import.meta.dirname, 'reaper.ts')];
  const child = spawn(
    '/bin/sh',
    ['-c', WAIT, 'slipway-reaper', ...program, dataDir, volumesDir, socket, machineId, instance],
    {
      cwd: '/',
      env: { ...NODE_ENVIRONMENT, PATH: '/usr/sbin:/usr/bin:/sbin:/bin' } as NodeJS.ProcessEnv,
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    },
  );
  child.on('error', () => undefined);
  child.stdin.on('error', () => undefined);
  child.unref();
  return () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It is gone already.
    }
  };
}
