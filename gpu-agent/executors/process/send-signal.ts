/** Sends a signal to a process of this host that may be gone. */

/** Sends it. Negative: to all of a process group. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It is gone.
  }
}
