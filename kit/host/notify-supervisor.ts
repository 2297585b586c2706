/** Reports that a part is ready, to whatever started it. */
import { execFile } from 'node:child_process';

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
