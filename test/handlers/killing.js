/**
 * Appends "<job id> <mark>" to the file `notes` and returns the mark, which no other run shares. With `kill` the first
 * run of a job kills the process `pid`, or its own: `when` it begins, or `ms` after it has returned.
 */
import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { start } from 'slipway-worker';

function strike(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}

function handler({ id, input }) {
  const mark = randomUUID();
  appendFileSync(input.notes, `${id} ${mark}\n`);
  const { kill } = input;
  if (kill && !existsSync(kill.once)) {
    writeFileSync(kill.once, '');
    const pid = kill.pid ?? process.pid;
    if (kill.when === 'begin') strike(pid);
    else setTimeout(() => strike(pid), kill.ms);
  }
  return { mark };
}

start({ handler, concurrency: 20 });
