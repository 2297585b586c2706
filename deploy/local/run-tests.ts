/**
 * `npm test`: makes the Pythons that tests need, runs tap and says at the end what was skipped and how many assertions passed and failed.
 * Arguments are test files or options of tap. `--no-skips` (used by .ci/run) makes the run fail when any test was skipped.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../core/runtime/clock.ts';
import { makeGrpcurl } from './test-grpcurl.ts';
import { namedFiles, toolsFor } from './test-needs.ts';
import { startTestPostgres } from './test-postgres.ts';
import { makeTestPythons } from './test-pythons.ts';
import { TestResultReader } from './test-results.ts';
import type { TestResults } from './test-results.ts';

const root = join(import.meta.dirname, '..', '..');
const tapProgram = join(root, 'node_modules', 'tap', 'dist', 'esm', 'run.mjs');
const outputFile = join(root, '.tap', 'results.tap');
/** Read by .ci/run. */
const summaryFile = join(root, '.tap', 'summary.json');
const NO_SKIPS = '--no-skips';
/**
 * tap leads a group together with its tests and a guard that blocks on a pipe which only this process holds: when this process is gone,
 * however it ended, the guard kills the group. What tests start outside of the group is tied to their own life (test/helpers).
 */
const GUARDED = '(trap "" TERM INT HUP; read -r line <&3; kill -9 -$$) & exec 3<&-; exec "$@"';

const stopping = new AbortController();
let running: ChildProcess | undefined;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'disconnect'] as const) {
  process.once(signal, () => {
    stopping.abort();
    // At once: tap answers a first SIGTERM by going on, and tests leave nothing that a signal would tidy up.
    if (running) killGroup(running);
  });
}

function killGroup(leader: ChildProcess): void {
  try {
    process.kill(-leader.pid!, 'SIGKILL');
  } catch {
    // It is gone.
  }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Runs tap; resolves with its exit code, or the signal that ended it, once all of its output has been handed to `onOutput`. */
function tap(args: readonly string[], onOutput?: (text: string) => void): Promise<number | NodeJS.Signals> {
  if (stopping.signal.aborted) return Promise.resolve(1);
  const child = spawn('/bin/sh', ['-c', GUARDED, 'sh', process.execPath, tapProgram, ...args], {
    cwd: root, detached: true, stdio: ['ignore', onOutput ? 'pipe' : 'inherit', 'inherit', 'pipe'],
  });
  running = child;
  // The guard, and whatever a tap that was killed left behind.
  child.once('exit', () => killGroup(child));
  child.stdout?.setEncoding('utf8').on('data', (text: string) => onOutput?.(text));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? signal ?? 1));
  });
}

/** tap comes with a TypeScript compiler in its test class; the pinned Node needs none, so .taprc leaves it out and tap is built anew. */
async function buildTap(): Promise<void> {
  const built = join(root, 'node_modules', '@tapjs', 'test', 'test-built', 'dist', 'esm', 'index.js');
  if (existsSync(built) && !readFileSync(built, 'utf8').includes('@tapjs/typescript')) return;
  say('Preparing tap; this happens once after an installation.');
  if (await tap(['build'], () => {}) !== 0) throw new Error('tap could not be built. See: npx tap build');
}

/** On a terminal tap's own reporter shows the run; elsewhere a line for each file and the details of each failure. */
async function runTap(args: readonly string[]): Promise<{ code: number | NodeJS.Signals; results: TestResults; files: number }> {
  if (process.stdout.isTTY) {
    rmSync(outputFile, { force: true });
    const code = await tap(['run', '--reporter=base', `--output-file=${outputFile}`, ...args]);
    const reader = new TestResultReader();
    reader.write(existsSync(outputFile) ? readFileSync(outputFile, 'utf8') : '');
    return { code, results: reader.end(), files: reader.files };
  }
  const reader = new TestResultReader({
    onFile: (name, ok, timeMs) => say(`${ok ? 'ok    ' : 'FAIL  '} ${name} (${Math.round(timeMs)} ms)`),
    onFailure: (name, details) => say(`FAILED ${name}\n${details.replaceAll(/^/gm, '         ')}`),
  });
  const code = await tap(['run', '--reporter=tap', ...args], (text) => reader.write(text));
  return { code, results: reader.end(), files: reader.files };
}

function skip(what: string, { message }: Error): void {
  if (!stopping.signal.aborted) say(`Tests with ${what} will be skipped. ${message}`);
}

function interruption(args: readonly string[], files: number, how: string): string {
  const all = namedFiles(root, args) ?? (args.length === 0 ? globSync('test/**/*.test.ts', { cwd: root }) : undefined);
  const left = all === undefined ? `${files} test files had ended, the others had not` : `${all.length - files} of ${all.length} test files had not ended`;
  return `The run was interrupted${how}: ${left}. Its numbers say nothing.`;
}

async function main(): Promise<number> {
  const noSkips = process.argv.includes(NO_SKIPS);
  const args = process.argv.slice(2).filter((argument) => argument !== NO_SKIPS);
  mkdirSync(join(root, '.tap'), { recursive: true });
  rmSync(summaryFile, { force: true });
  await buildTap();
  const seams = { report: say, signal: stopping.signal, clock: systemClock };
  const tools = toolsFor(root, args);
  await makeTestPythons(root, seams, (name) => tools.has(name)).catch((error: Error) => skip('Python workers', error));
  if (tools.has('grpcurl')) await makeGrpcurl(root, seams).catch((error: Error) => skip('grpcurl', error));
  const postgres = tools.has('postgres') && !stopping.signal.aborted ? await startTestPostgres(root) : undefined;
  if (postgres) process.env.SLIPWAY_TEST_POSTGRES = postgres.setting;
  const { code, results, files } = await runTap(args);
  await postgres?.stop();
  const { passed, failed, skipped } = results;
  writeFileSync(summaryFile, JSON.stringify({ passed, failed, skipped: skipped.length }));
  for (const { name, reason } of skipped) say(`skipped: ${name}: ${reason}`);
  say(`${passed} passed, ${failed} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}`);
  if (stopping.signal.aborted || typeof code === 'string') {
    say(interruption(args, files, typeof code === 'string' && !stopping.signal.aborted ? ` (tap ended by ${code})` : ''));
    return 1;
  }
  return code !== 0 || failed > 0 || (noSkips && skipped.length > 0) ? 1 : 0;
}

process.exit(await main());
