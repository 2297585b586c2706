/**
 * Calls of NVIDIA's driver through its program `cuda-checkpoint`, for machines on which Node cannot call the driver
 * itself. It does the same calls.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { DriverCalls } from './driver-calls.ts';
import { DriverCallError } from './driver-calls.ts';

const PROGRAM = 'cuda-checkpoint';
const run = promisify(execFile);

/** Returns the calls. `undefined`: the program is not on PATH, or does not know single calls. */
export async function checkpointProgram(): Promise<DriverCalls | undefined> {
  const help = await run(PROGRAM, ['--help']).catch(() => undefined);
  if (!help || !/--action/.test(help.stdout + help.stderr)) return undefined;
  return {
    lock: (pid, timeoutMs) => act('lock', pid, '--timeout', String(timeoutMs)),
    checkpoint: async (pid) => {
      await act('checkpoint', pid);
      const { stdout } = await run(PROGRAM, ['--get-state', '--pid', String(pid)]);
      if (stdout.trim() !== 'checkpointed') throw new DriverCallError('checkpoint', pid, `state ${stdout.trim()}`);
    },
    restore: (pid) => act('restore', pid),
    unlock: (pid) => act('unlock', pid),
  };
}

async function act(action: string, pid: number, ...more: string[]): Promise<void> {
  try {
    await run(PROGRAM, ['--action', action, '--pid', String(pid), ...more]);
  } catch (error) {
    const { stderr = '', message } = error as Error & { stderr?: string };
    throw new DriverCallError(action, pid, stderr.trim().split('\n').at(-1) || message);
  }
}
