/** Starts processes by the executor of this host, and finds their groups. */
import { readdirSync, readFileSync } from 'node:fs';
import type { RunningWorkload } from '@slipway/gpu-agent/executors/executor';
import { ProcessExecutor } from '@slipway/gpu-agent/executors/process/process-executor';
import { systemClock } from '@slipway/kit/time/clock';
import { NO_LIMITS } from '../../../helpers/no-limits.ts';

export const executor = new ProcessExecutor(systemClock, () => 'machine');
/** Fields that these workloads do not need. */
export const PLAIN = {
  workloadId: 'w',
  user: undefined,
  entrypoint: [],
  image: undefined,
  mounts: [],
  gpus: [],
  limits: NO_LIMITS,
};
export const PATH = process.env.PATH ?? '/usr/bin:/bin';

/** Starts a worker. Returns it with its output so far. */
export function start(
  command: string[],
  env: Record<string, string> = {},
): { worker: RunningWorkload; output: () => string } {
  let text = '';
  const worker = executor.start({
    ...PLAIN,
    command,
    workingDirectory: '/',
    env: { PATH, ...env },
    onOutput: (bytes) => {
      text += String(bytes);
    },
  });
  return { worker, output: () => text };
}

/** Returns the processes of a group that are not zombies. */
export function groupMembers(group: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
          .replace(/^.*\) /, '')
          .split(' ');
        return fields[0] !== 'Z' && Number(fields[2]) === group;
      } catch {
        return false;
      }
    });
}

export const linuxOnly = { skip: process.platform === 'linux' ? false : 'reads /proc' };
