/** Time of a flush to the disk: each commit, and each write to a Redis that flushes, waits for one. */
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { ofRounds } from './figure.ts';
import { scratchFolder } from './scratch-folder.ts';

const BLOCK = Buffer.alloc(8 * 1024, 1);
/** Blocks of the file. They are written before, like the segments of a log that are used again. */
const BLOCKS = 512;
const FLUSHES = 400;

/** Median of many flushes in milliseconds, and their spread. */
export interface FlushTime {
  ms: number;
  leastMs: number;
  mostMs: number;
}

/** Measures fdatasync after a write of 8 KiB in place, on the disk of temporary files, where the databases are too. */
export async function measureFlush(): Promise<FlushTime> {
  const file = join(await scratchFolder('flush-'), 'blocks');
  const handle = openSync(file, 'w');
  try {
    for (let block = 0; block < BLOCKS; block += 1) writeSync(handle, BLOCK, 0, BLOCK.length, block * BLOCK.length);
    fdatasyncSync(handle);
    const times: number[] = [];
    for (let flush = 0; flush < FLUSHES; flush += 1) {
      const startedAtMs = performance.now();
      writeSync(handle, BLOCK, 0, BLOCK.length, (flush % BLOCKS) * BLOCK.length);
      fdatasyncSync(handle);
      times.push(performance.now() - startedAtMs);
    }
    const { value, spread } = ofRounds(times);
    return { ms: value, leastMs: spread.least, mostMs: spread.most };
  } finally {
    closeSync(handle);
    rmSync(file);
  }
}

/** Returns the time as text. */
export function flushText({ ms, leastMs, mostMs }: FlushTime): string {
  return `a flush (8 KiB, fdatasync) takes ${ms.toFixed(2)} ms (${leastMs.toFixed(2)} – ${mostMs.toFixed(2)})`;
}
