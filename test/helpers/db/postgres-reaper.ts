/** What a test starts must not outlive it, also when the test is killed and nothing of it can tidy up any more. */
import { spawn } from 'node:child_process';

/**
 * Blocks on a pipe whose other end only the test's process holds. A line says that all is tidy; the end of the pipe
 * without one says that the process is gone: then the server that runs on the data is ended, also one that is just
 * starting, and the folder removed.
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
 * Ends the PostgreSQL of a data folder when this process is gone, and removes `folder`, all that it leaves behind.
 * Answers what calls that off.
 */
export function reapPostgresWithProcess(dataDir: string, folder: string): () => void {
  // A session of its own: what a signal to the group ends is exactly what this has to outlive.
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
