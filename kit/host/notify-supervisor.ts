/** Reports that a part is ready, to whatever started it. */
import { execFile } from 'node:child_process';
import type { Clock } from '../time/clock.ts';

/**
 * Sends `facts` to a launcher that listens on the IPC channel, and says "ready" to systemd for a unit of Type=notify.
 * Node has no datagram sockets of Unix, so systemd's own program does it.
 */
export function reportReady(facts: object): void {
  process.send?.({ ready: true, ...facts });
  const socket = process.env['NOTIFY_SOCKET'];
  if (socket === undefined || socket === '') return;
  execFile('systemd-notify', ['--ready', `--pid=${process.pid}`], { timeout: 10_000 }, (error) => {
    if (error) process.stderr.write(`systemd was not told that this process is ready: ${error.message}\n`);
  });
}

/** Shortest time between two reports of activity, in milliseconds. */
const ACTIVITY_PERIOD_MS = 500;

/**
 * Returns a function that notifies the launcher, if one listens on the IPC channel. Reports
 * soon after another one are left out.
 */
export function activityReporter(clock: Clock): () => void {
  let pausedUntilMs = -Infinity;
  return () => {
    const now = clock.monotonicMs();
    if (now < pausedUntilMs || !process.connected) return;
    pausedUntilMs = now + ACTIVITY_PERIOD_MS;
    process.send?.({ active: true });
  };
}
