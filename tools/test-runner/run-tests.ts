/**
 * `npm test`: makes what the tests need and runs them. At the end it prints what was skipped and how many assertions
 * passed and failed. Arguments are test files or options of tap. `--no-skips` (used by .ci/run) makes the run fail if
 * any test was skipped. `--quick` leaves out long files. `--of FILE…` (`npm run test:of`) runs the tests that import
 * these files; with `--list` it only prints them.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { inspect } from 'node:util';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import { makeKube } from '../kube/build.ts';
import { realNodeFault } from '../kube/real-node/real-node-fault.ts';
import { removeOldCgroups } from './old-cgroups.ts';
import type { TestNeed } from './test-declaration.ts';
import { DeclarationError, needsOf, TEST_NEEDS } from './test-declaration.ts';
import { makeGrpcurl } from './test-grpcurl.ts';
import { makeMcp } from './test-mcp.ts';
import { testsOf } from './test-of.ts';
import { startTestPostgres } from './test-postgres.ts';
import { makeTestPythons } from './test-pythons.ts';
import type { FailedFile, TestResults } from './test-results.ts';
import { TestResultReader } from './test-results.ts';
import { filesToRunAgain, resultsOfBoth } from './test-second-run.ts';
import { filesOf, QUICK_SECONDS_MAX, quickSelection } from './test-selection.ts';

const root = join(import.meta.dirname, '../..');
const tapProgram = join(root, 'node_modules', 'tap', 'dist', 'esm', 'run.mjs');
const poolProgram = join(import.meta.dirname, 'test-pool.ts');
/** Most files that run in parallel: as many as one PostgreSQL has connections for. */
const JOBS_MAX = 8;
/** Files that run in parallel: two more than there are cores, because most files wait most of the time. */
const JOBS = Math.min(availableParallelism() + 2, JOBS_MAX);
/** Further files that run in parallel while processors idle: two per core. */
const SPARE_JOBS = Math.min(2 * availableParallelism(), JOBS_MAX - JOBS);
const outputFile = join(root, '.tap', 'results.tap');
/** Folder in which the Podmans of tests share images. The first Podman makes it. */
const imagesFolder = join(root, '.tap', 'images');
/** Summary of the run, read by .ci/run. */
const summaryFile = join(root, '.tap', 'summary.json');
/** Seconds and processor seconds of each file of the last run, longest first. */
const timesFile = join(root, '.tap', 'times.json');
/** Number of the longest files that are printed at the end. */
const LONGEST = 10;
const NO_SKIPS = '--no-skips';
const QUICK = '--quick';
const OF = '--of';
const LIST = '--list';
/**
 * Shell command that runs tap as the leader of a process group. The group also holds the tests and a guard, which
 * blocks on a pipe that only this process holds. When this process is gone, however it ended, the guard kills the
 * group. Processes that tests start outside the group end with those tests (test/helpers).
 */
const GUARDED = '(trap "" TERM INT HUP; read -r line <&3; kill -9 -$$) & exec 3<&-; exec "$@"';

/** Exit code of a process, or the signal that ended it. */
type Ending = number | NodeJS.Signals;

const stopping = new AbortController();
let running: ChildProcess | undefined;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'disconnect'] as const) {
  process.once(signal, () => {
    stopping.abort();
    // Killed at once: tap continues after a first SIGTERM, and tests leave nothing that a signal would clean up.
    if (running) killGroup(running);
  });
}

function killGroup(leader: ChildProcess): void {
  try {
    process.kill(-leader.pid!, 'SIGKILL');
  } catch {
    // The group has already ended.
  }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/**
 * Runs tap, or the pool, which has the same output. Resolves with how it ended, once all of its output has been passed
 * to `onOutput`.
 */
function run(program: string, args: readonly string[], onOutput?: (text: string) => void): Promise<Ending> {
  if (stopping.signal.aborted) return Promise.resolve(1);
  const child = spawn('/bin/sh', ['-c', GUARDED, 'sh', process.execPath, program, ...args], {
    cwd: root,
    detached: true,
    stdio: ['ignore', onOutput ? 'pipe' : 'inherit', 'inherit', 'pipe'],
  });
  running = child;
  // Kills the guard, and anything that a killed tap left behind.
  child.once('exit', () => killGroup(child));
  child.stdout?.setEncoding('utf8').on('data', (text: string) => onOutput?.(text));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? signal ?? 1));
  });
}

/**
 * Builds tap without its TypeScript compiler. tap includes one in its test class, but the pinned Node needs none, so
 * .taprc leaves it out.
 */
async function buildTap(): Promise<void> {
  const built = join(root, 'node_modules', '@tapjs', 'test', 'test-built', 'dist', 'esm', 'index.js');
  if (existsSync(built) && !readFileSync(built, 'utf8').includes('@tapjs/typescript')) return;
  say('Preparing tap; this happens once after an installation.');
  if ((await run(tapProgram, ['build'], () => {})) !== 0) throw new Error('tap could not be built. See: npx tap build');
}

interface RunOutcome {
  code: Ending;
  results: TestResults;
  files: number;
  /** Files that failed in parallel with others and passed alone. */
  flaky: string[];
}

/** Outcome of the files of one pool. */
interface FileRun extends RunOutcome {
  failedFiles: readonly FailedFile[];
  times: ReadonlyMap<string, FileTime>;
}

/** Times of a file, in seconds. `processor`: absent if it was not counted. */
interface FileTime {
  seconds: number;
  processor?: number;
}

/**
 * Runs the files. Reports a line for each file and the details of each failure. With options of tap, tap's own reporter
 * shows the run on a terminal.
 */
async function runFiles(args: readonly string[]): Promise<RunOutcome> {
  const files = filesOf(root, args);
  if (!files && process.stdout.isTTY) {
    rmSync(outputFile, { force: true });
    const code = await run(tapProgram, ['run', '--reporter=base', `--output-file=${outputFile}`, ...args]);
    const reader = new TestResultReader();
    reader.write(existsSync(outputFile) ? readFileSync(outputFile, 'utf8') : '');
    return { code, results: reader.end(), files: reader.files, flaky: [] };
  }
  if (!files) return readRun(tapProgram, ['run', '--reporter=tap', ...args]);
  const first = await readRun(poolProgram, [`--jobs=${JOBS}`, `--spare=${SPARE_JOBS}`, ...files]);
  if (files.length > LONGEST) reportTimes(first.times);
  const again =
    typeof first.code === 'string' || stopping.signal.aborted ? [] : filesToRunAgain(first.failedFiles, files);
  if (again.length === 0) return first;
  say(`Once more, alone: ${again.join(', ')}`);
  const second = await readRun(poolProgram, ['--jobs=1', ...again]);
  const failed = new Set(second.failedFiles.map(({ name }) => name));
  const flaky = again.filter((name) => !failed.has(name));
  return {
    code: second.code,
    results: resultsOfBoth(first.results, first.failedFiles, second.results),
    files: first.files,
    flaky,
  };
}

/** Runs a program that writes TAP, and reads its output. */
async function readRun(program: string, options: readonly string[]): Promise<FileRun> {
  const times = new Map<string, FileTime>();
  const reader = new TestResultReader({
    onFile: (name, ok, timeMs, processorMs) => {
      const seconds = Math.round(timeMs) / 1000;
      times.set(name, processorMs === undefined ? { seconds } : { seconds, processor: processorMs / 1000 });
      say(`${ok ? 'ok    ' : 'FAIL  '} ${name} (${Math.round(timeMs)} ms)`);
    },
    onFailure: (name, details) => say(`FAILED ${name}\n${details.replaceAll(/^/gm, '         ')}`),
  });
  const code = await run(program, options, (text) => reader.write(text));
  return { code, results: reader.end(), files: reader.files, flaky: [], failedFiles: reader.failedFiles, times };
}

/** Stores the times of each file and prints the longest ones, as a basis for the times that files declare. */
function reportTimes(times: ReadonlyMap<string, FileTime>): void {
  const sorted = [...times].sort(([, a], [, b]) => b.seconds - a.seconds);
  writeFileSync(timesFile, JSON.stringify(Object.fromEntries(sorted), undefined, 1));
  const longest = sorted.slice(0, LONGEST).map(([file, { seconds }]) => `${file} ${Math.round(seconds)} s`);
  say(`longest: ${longest.join(', ')}`);
  const processor = sorted.reduce((sum, [, time]) => sum + (time.processor ?? 0), 0);
  if (processor > 0) say(`processor time of the files, without PostgreSQL and containers: ${Math.round(processor)} s`);
}

/**
 * Returns the needs that the files of a run declare. If tap's own options choose the files, returns all needs. Throws
 * if a declaration has an unknown word.
 */
function needsOfRun(args: readonly string[]): ReadonlySet<TestNeed> {
  const files = filesOf(root, args);
  return files ? needsOf(root, files) : new Set(TEST_NEEDS);
}

/** Finds and prints the tests of the named source files; `undefined` if there are none. */
function findTestsOf(sources: readonly string[]): string[] | undefined {
  const missing = sources.filter((file) => !existsSync(resolve(root, file)));
  if (sources.length === 0 || missing.length > 0) {
    say(missing.length > 0 ? `There is no file ${missing.join(', ')}.` : 'Name source files: npm run test:of FILE');
    return undefined;
  }
  const found = sources.flatMap((source) => testsOf(root, source));
  for (const { file, distance } of found)
    say(distance <= 1 ? file : `${file}, through ${distance - 1} other ${distance === 2 ? 'file' : 'files'}`);
  if (found.length === 0)
    say(`No test imports ${sources.join(', ')}: find by its subject in test/spec or test/e2e what covers it.`);
  return found.length === 0 ? undefined : [...new Set(found.map(({ file }) => file))];
}

function skip(what: string, { message }: Error): void {
  if (!stopping.signal.aborted) say(`Tests with ${what} will be skipped. ${message}`);
}

function interruption(args: readonly string[], files: number, how: string): string {
  const all = filesOf(root, args);
  const left =
    all === undefined
      ? `${files} test files had ended, the others had not`
      : `${all.length - files} of ${all.length} test files had not ended`;
  return `The run was interrupted${how}: ${left}. Its numbers say nothing.`;
}

async function main(): Promise<number> {
  const flags = new Set(process.argv.filter((argument) => [NO_SKIPS, OF, LIST, QUICK].includes(argument)));
  const named = process.argv.slice(2).filter((argument) => !flags.has(argument));
  const chosen = flags.has(OF) ? findTestsOf(named) : named;
  if (!chosen) return 1;
  if (flags.has(LIST)) return 0;
  return flags.has(QUICK) ? runQuick(chosen, flags.has(NO_SKIPS)) : runAll(chosen, flags.has(NO_SKIPS));
}

/** Runs the files that declare no long time, and prints the others. */
async function runQuick(args: readonly string[], noSkips: boolean): Promise<number> {
  const files = filesOf(root, args);
  if (!files) throw new Error(`${QUICK} goes with files and folders, not with options of tap`);
  const { kept, leftOut } = quickSelection(root, files);
  const bound = `${leftOut.length} of ${files.length} files, which declare more than ${QUICK_SECONDS_MAX} s`;
  say(`${QUICK} leaves out ${bound}: ${leftOut.join(', ') || 'none'}`);
  if (kept.length === 0) return 1;
  const code = await runAll(kept, noSkips);
  say(`${QUICK} left out ${bound}.`);
  return code;
}

async function runAll(args: readonly string[], noSkips: boolean): Promise<number> {
  const needs = needsOfRun(args);
  mkdirSync(join(root, '.tap'), { recursive: true });
  rmSync(summaryFile, { force: true });
  await buildTap();
  const deps = { report: say, signal: stopping.signal, clock: systemClock };
  const isWanted = (name: string): boolean => needs.has(name.startsWith('python-') ? 'python' : (name as TestNeed));
  await makeTestPythons(root, deps, isWanted).catch((error: Error) => skip('Python workers', error));
  if (needs.has('grpcurl')) await makeGrpcurl(root, deps).catch((error: Error) => skip('grpcurl', error));
  if (needs.has('mcp')) await makeMcp(root, deps).catch((error: Error) => skip('the MCP server', error));
  const realNode = needs.has('kubernetes-node') && realNodeFault() === undefined;
  if (needs.has('kubernetes') || realNode)
    await makeKube(root, deps, realNode).catch((error: Error) => skip('Kubernetes', error));
  const postgres = needs.has('postgres') && !stopping.signal.aborted ? await startTestPostgres(root) : undefined;
  if (postgres) process.env.SLIPWAY_TEST_POSTGRES = postgres.setting;
  // Hundreds of processes load the same few modules. Keeping their compiled code halves the time of a start.
  process.env.NODE_COMPILE_CACHE ??= join(root, '.tap', 'compile-cache');
  // One seed for all files, so that any failure can be reproduced by one number. Files that run again alone have the
  // same seed.
  const seed = (process.env.SLIPWAY_TEST_SEED ??= String(Math.floor(systemRandom.fraction() * 2 ** 31)));
  removeOldCgroups(systemClock.nowMs());
  // A killed run may have left images.
  rmSync(imagesFolder, { recursive: true, force: true });
  process.env.SLIPWAY_TEST_IMAGES = imagesFolder;
  const { code, results, files, flaky } = await runFiles(args);
  rmSync(imagesFolder, { recursive: true, force: true });
  await postgres?.stop();
  const { passed, failed, skipped } = results;
  writeFileSync(summaryFile, JSON.stringify({ passed, failed, skipped: skipped.length, flaky }));
  for (const { name, reason } of skipped) say(`skipped: ${name}: ${reason}`);
  if (code !== 0 || flaky.length > 0) say(`SLIPWAY_TEST_SEED=${seed} repeats what chance chose in this run.`);
  for (const file of flaky)
    say(
      `FLAKY  ${file}: it failed among others and passed alone. Its failure is above: fix the test or the tested code.`,
    );
  say(`${passed} passed, ${failed} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}`);
  if (stopping.signal.aborted || typeof code === 'string') {
    say(
      interruption(args, files, typeof code === 'string' && !stopping.signal.aborted ? ` (tap ended by ${code})` : ''),
    );
    return 1;
  }
  return code !== 0 || failed > 0 || (noSkips && skipped.length > 0) ? 1 : 0;
}

process.exit(
  await main().catch((error: unknown) => {
    say(error instanceof DeclarationError ? error.message : inspect(error));
    return 1;
  }),
);
