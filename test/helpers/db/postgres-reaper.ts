/** Ensures that a test's PostgreSQL does not outlive the test, even when the test is killed and cannot clean up. */
import { spawn } from 'node:child_process';

/**
 * Blocks on a pipe whose other end is held by the test's process alone. A line means that the test has cleaned up. End
 * of file without a line means that the process is gone: the script then ends the server that runs on the data, even
 * one that is just starting, and removes the folder.
 */
const REAP = `
read -r line && exit
for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do
  read -r pid 2>/dev/null < "$1/postmaster.pid"
  if grep -aqF -- "$1" "/proc/\${pid:-none}/cmdline" 2>/dev/null; then kill -s QUIT "$pid"; elif [ "$round" -gt 5 ]; then break; fi
  sleep 0.2
done
rm -rf -- "$2"
`;

/**
 * Ends the PostgreSQL of a data folder when this process is gone, and removes `folder` with everything in it. Returns a
 * function that cancels this.
 */
export function reapPostgresWithProcess(dataDir: string, folder: string): () => void {
  // The reaper has its own session, because it must outlive a signal to the test's process group.
  const reaper = spawn('/bin/sh', ['-c', REAP, 'sh', dataDir, folder], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  reaper.unref();
  reaper.stdin.on('error', () => undefined);
  (reaper.stdin as unknown as { unref(): void }).unref();
  return () => {
    reaper.stdin.end('tidy\n');
  };
}
