/**
 * Starts a program with the pinned Node: plain JavaScript for any Node from 20 up, because it runs before the pinned
 * one does. The pinned Node is the npm package `node`; an installation brings it along.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module, { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { setInterval as everyMs } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const NODE_MAJOR = 24;
const PARENT_PERIOD_MS = 500;
const PASSED_ON_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

function fail(text) {
  process.stderr.write(`${text}\n`);
  process.exit(1);
}

function pinnedNode(self) {
  try {
    const node = join(dirname(createRequire(self).resolve('node/package.json')), 'bin', 'node');
    if (existsSync(node)) return node;
  } catch {
    // Not installed: the message below says what to do.
  }
  return fail(
    `Slipway is not installed completely: ${self} finds no Node ${NODE_MAJOR}. Run "npm install" again. ` +
      'If npm blocked the script of "node", run "npm install-scripts approve node" and "npm rebuild node".',
  );
}

/** Runs the file with the pinned Node. The IPC channel reports the death of this process to it. */
function runPinned(self) {
  const node = pinnedNode(self);
  const child = spawn(node, [self, ...process.argv.slice(2)], { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  // A terminal sends the signal to the child as well; the second one does no harm.
  for (const signal of PASSED_ON_SIGNALS) process.on(signal, () => child.kill(signal));
  return new Promise((resolve) => {
    child.once('error', (error) => fail(`${node} cannot run here (${error.message}). Run "npm install" again.`));
    child.once('exit', (code, signal) => resolve(code ?? 128 + (constants.signals[signal] ?? 0)));
  });
}

/**
 * Watches the shell that npx puts between itself and this process: a SIGTERM to npx alone ends both of them, and
 * this process gets nothing.
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

/**
 * Calls `run` in this process when its Node is new enough, and otherwise runs the file again with the pinned Node.
 * `url`: `import.meta.url` of the file. `run` returns the exit code, or nothing for a program that ends by itself.
 */
export async function withPinnedNode(url, run) {
  const self = fileURLToPath(url);
  void watchNpm();
  if (Number(process.versions.node.split('.')[0]) < NODE_MAJOR) {
    process.exitCode = await runPinned(self);
    return;
  }
  watchStarter();
  // Compiled code is kept between runs, which halves the start.
  module.enableCompileCache?.();
  const code = await run();
  if (code !== undefined) process.exitCode = code;
}
