#!/usr/bin/env node
/**
 * What `npx slipway` runs: plain JavaScript for any Node from 20 up. An older Node than the pinned one runs this file
 * again with the pinned one, which reads TypeScript as it is.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module from 'node:module';
import { constants } from 'node:os';
import { join } from 'node:path';
import { setInterval as everyMs } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const NODE_MAJOR = 24;
const PARENT_PERIOD_MS = 500;
const PASSED_ON_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

const self = fileURLToPath(import.meta.url);
const root = join(self, '..', '..', '..');

function fail(text) {
  process.stderr.write(`${text}\n`);
  process.exit(1);
}

/** Runs this file with the pinned Node. The IPC channel tells it when this process is killed. */
function runPinned() {
  const node = join(root, 'node_modules', 'node', 'bin', 'node');
  if (!existsSync(node)) fail(`Slipway is not installed completely: run "npm install" in ${root} and try again.`);
  const child = spawn(node, [self, ...process.argv.slice(2)], { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  // A signal of the terminal reaches the child twice then, which does no harm.
  for (const signal of PASSED_ON_SIGNALS) process.on(signal, () => child.kill(signal));
  return new Promise((resolve) => {
    child.once('error', (error) =>
      fail(`${node} cannot run here (${error.message}). Delete node_modules and run "npm install" in ${root}.`),
    );
    child.once('exit', (code, signal) => resolve(code ?? 128 + (constants.signals[signal] ?? 0)));
  });
}

/**
 * A SIGTERM to npx alone ends npx and the shell between it and this process, which gets nothing: the end of that shell
 * counts instead.
 */
async function watchNpm() {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  for await (const _ of everyMs(PARENT_PERIOD_MS, undefined, { ref: false })) {
    if (process.ppid !== parent) return process.kill(process.pid, 'SIGTERM');
  }
}

function watchStarter() {
  if (!process.connected) return;
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel.unref();
}

void watchNpm();
if (Number(process.versions.node.split('.')[0]) < NODE_MAJOR) {
  process.exitCode = await runPinned();
} else {
  watchStarter();
  // Compiled code is kept between runs, which halves the start.
  module.enableCompileCache?.();
  const { main } = await import('./main.ts');
  process.exitCode = await main(process.argv.slice(2));
}
