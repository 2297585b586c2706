/** A server of a run's own in a folder of its own: both go when this process does, however that comes about. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Ends it, and takes its folder away, once the pipe to this process is closed. */
const GUARDED = 'folder=$1; shift; "$@" & read -r line; kill $!; wait $!; rm -rf -- "$folder"';

/** Starts a command. */
export function startGuarded(
  folder: string,
  command: readonly string[],
  env: Record<string, string> = {},
): { stop(): Promise<void> } {
  const guard = spawn('/bin/sh', ['-c', GUARDED, 'sh', folder, ...command], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    env: { ...process.env, ...env },
  });
  const gone = once(guard, 'exit');
  return {
    stop: async () => {
      guard.stdin.end();
      await gone;
    },
  };
}
