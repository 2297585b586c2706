/** Sends signals to processes of this host that may be gone. */

/** Sends a signal. A negative id means the whole process group. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process is gone.
  }
}
