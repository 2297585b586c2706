/** Ends a process group at once. Does nothing if it has ended. `pid`: its leader; `undefined` if it never started. */
export function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
