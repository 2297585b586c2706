/**
 * Fills Node's compile cache (NODE_COMPILE_CACHE) with all that `npm start` runs, before the first start: a process
 * that has to strip types itself keeps 20 MiB for the parser until it ends. Each part is run as the launcher runs it,
 * because V8 takes compiled code only from a process with the same flags, but with a wrong setting, at which it ends
 * when everything is loaded.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PARTS, PreloadedPrograms } from '../processes/preloaded-programs.ts';

const root = join(import.meta.dirname, '../..');
const { NODE_COMPILE_CACHE: cacheDir = '', PATH } = process.env;
const env = { PATH, SLIPWAY_LOG_LEVEL: 'wrong' };
const logDir = mkdtempSync(join(tmpdir(), 'slipway-'));
const preloaded = new PreloadedPrograms(PARTS, { root, logDir, cacheDir, env });
const help = spawn(process.execPath, ['dev/start.ts', '--help'], { cwd: root, stdio: 'ignore' });
const parts = PARTS.map(({ file }) => preloaded.run(file, env)).filter((part) => part !== undefined);
await Promise.all([help, ...parts].map((child) => once(child, 'exit')));
rmSync(logDir, { recursive: true });
