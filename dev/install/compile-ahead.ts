/**
 * Fills Node's compile cache (NODE_COMPILE_CACHE) with all that `npm start` runs, before the first start: a process
 * that has to strip types itself keeps 20 MiB for the parser until it ends. Each part is run as the launcher runs it,
 * because V8 takes compiled code only from a process with the same flags, but with a wrong setting, at which it ends
 * when everything is loaded.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { backgroundClock } from '@slipway/kit/time/clock';
import { PARTS, PreloadedPrograms } from '../processes/preloaded-programs.ts';
import { endInTime } from './end-in-time.ts';

/**
 * Longest run of a part, in milliseconds. A part without compiled code starts more slowly, but it starts: the start of
 * Slipway must not wait for one that hangs.
 */
const PART_MS_MAX = 120_000;

const root = join(import.meta.dirname, '../..');
const { NODE_COMPILE_CACHE: cacheDir = '', PATH } = process.env;
const env = { PATH, SLIPWAY_LOG_LEVEL: 'wrong' };
const logDir = mkdtempSync(join(tmpdir(), 'slipway-'));
const preloaded = new PreloadedPrograms(PARTS, { root, logDir, cacheDir, env });
const help = spawn(process.execPath, ['dev/start.ts', '--help'], { cwd: root, stdio: 'ignore' });
const parts = PARTS.map(({ file }) => preloaded.run(file, env)).filter((part) => part !== undefined);
await endInTime([help, ...parts], PART_MS_MAX, backgroundClock);
rmSync(logDir, { recursive: true });
