/**
 * Runs 20 jobs at once: waits until the file `gate` exists, works for `ms`, leaves the line "<job id> <mark> <pid>" in the file `notes` and
 * returns the job's `number`, the mark, which no other run shares, and `bytes` more bytes.
 */
import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { start } from 'slipway-worker';

async function handler({ id, input }) {
  while (!existsSync(input.gate)) await delay(10);
  await delay(input.ms);
  const mark = randomUUID();
  appendFileSync(input.notes, `${id} ${mark} ${process.pid}\n`);
  return { number: input.number, mark, ...(input.bytes > 0 && { pad: 'x'.repeat(input.bytes) }) };
}

start({ handler, concurrency: 20 });
