/**
 * Fills Node's compile cache (NODE_COMPILE_CACHE) with all that `npm start` runs, before the first start: a process
 * that has to strip types itself keeps 20 MiB for the parser until it ends. Each program is run with a wrong setting,
 * at which it ends when everything is loaded, and with its own flags: V8 takes compiled code only from a process with
 * the same ones.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { NODE_ENVIRONMENT, NODE_FLAGS } from '@slipway/kit/host/node-settings';

const root = join(import.meta.dirname, '../..');
const { NODE_COMPILE_CACHE, PATH } = process.env;
const env = { NODE_COMPILE_CACHE, PATH, ...NODE_ENVIRONMENT, SLIPWAY_LOG_LEVEL: 'wrong' };
/** Arguments of the programs. */
const PROGRAMS = [
  [...NODE_FLAGS, 'core/main.ts'],
  [...NODE_FLAGS, 'facades/main.ts'],
  [...NODE_FLAGS, 'gpu-agent/main.ts'],
  ['dev/start.ts', '--help'],
];

await Promise.all(
  PROGRAMS.map((args) => once(spawn(process.execPath, args, { cwd: root, env, stdio: 'ignore' }), 'exit')),
);
