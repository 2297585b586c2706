/** Starts a server of one run in a separate folder. Both are removed when this process ends, however it ends. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Stops the server and removes its folder once the pipe to this process is closed. */
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
