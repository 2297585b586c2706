/**
 * Entry point of every npm script: plain JavaScript for any Node from 20 up, with nothing installed. It installs
 * missing packages and then runs the command's TypeScript with the pinned Node. It must not import TypeScript or
 * anything that npm installs.
 *
 * With `--prepare` before the command it does not run the command, and ends with code 100 when that can be run
 * (start.sh).
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { constants } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setInterval as everyMs } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { onceFor } from './once-for.mjs';

const NODE_MAJOR_MIN = 20;
const PROGRESS_PERIOD_MS = 10_000;
const PARENT_PERIOD_MS = 2_000;
/** Same value as in options.ts. */
const PORT_DEFAULT = 8080;
const PASSED_ON_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const CODE_PREPARED = 100;

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const modules = join(root, 'node_modules');
const pinnedNode = join(modules, 'node', 'bin', 'node');

/**
 * Commands by name: the file that each runs, arguments that it always gets, whether it also needs the development
 * packages, and the file with its help. Showing the help must need no installation.
 */
const COMMANDS = {
  start: { file: 'dev/start.ts', development: false, help: 'dev/start-help.txt' },
  test: { file: 'tools/test-runner/run-tests.ts', development: true, help: 'tools/test-runner/help.txt' },
  'test:of': {
    file: 'tools/test-runner/run-tests.ts',
    args: ['--of'],
    development: true,
    help: 'tools/test-runner/help.txt',
  },
  'test:python': { file: 'tools/test-runner/make-test-pythons.ts', development: true },
  bench: { file: 'tools/bench/main.ts', development: true, help: 'tools/bench/help.txt' },
  kube: { file: 'tools/kube/main.ts', development: true, help: 'tools/kube/help.txt' },
  fleet: { file: 'test/fleet/main.ts', development: true },
  'gpu-check': { file: 'test/gpu/gpu-check.ts', development: true },
  chaos: { file: 'test/kill/chaos/main.ts', development: true },
  soak: { file: 'tools/soak/main.ts', development: true, help: 'tools/soak/help.txt' },
  sim: { file: 'test/sim/main.ts', development: true, help: 'test/sim/help.txt' },
};

/**
 * Programs that build parts which are not kept in git, such as patched packages. Each does nothing if its part is up to
 * date.
 */
const PATCHES = 'dev/install/patch-packages.ts';
const GENERATORS = ['facades/graphql/build.ts', 'facades/console/build.ts'];
/** Files and folders that the generators read and write. */
const GENERATED_FROM = [PATCHES, 'deploy/patches', 'facades', 'proto', 'kit/bytes', 'package-lock.json'];

/** Program that fills Node's compile cache for `npm start`, and the folders that it loads. */
const COMPILE_AHEAD = 'dev/install/compile-ahead.ts';
const COMPILED_FROM = ['core', 'dev', 'drizzle', 'facades', 'gpu-agent', 'kit', 'proto', 'package-lock.json'];

function fail(text, code = 1) {
  process.stderr.write(`\n${text}\n`);
  process.exit(code);
}

function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

/**
 * Returns packages of package-lock.json that node_modules lacks or has in another version. npm writes
 * node_modules/.package-lock.json as the last step of an installation, so after an interrupted one nothing counts as
 * installed.
 */
function missingPackages(development) {
  const wanted = readJson(join(root, 'package-lock.json'))?.packages;
  if (!wanted) fail('package-lock.json is missing or damaged. Check out the project again.');
  const installed = readJson(join(modules, '.package-lock.json'))?.packages ?? {};
  const missing = [];
  for (const [path, entry] of Object.entries(wanted)) {
    if (!path.startsWith('node_modules/')) continue;
    // Optional packages are for other operating systems. A link is a folder of this project.
    if (entry.link || entry.optional || entry.devOptional || (entry.dev && !development)) continue;
    if (installed[path]?.version !== entry.version) missing.push(path);
  }
  if (!existsSync(pinnedNode)) missing.push('node_modules/node');
  return missing;
}

/** Returns whether development packages are installed. An installation without them would delete them. */
function hasDevelopmentPackages() {
  return Object.values(readJson(join(modules, '.package-lock.json'))?.packages ?? {}).some(({ dev }) => dev === true);
}

function ended(child) {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? 128 + (constants.signals[signal] ?? 0)));
  });
}

/** Reports progress where npm does not: npm shows its own on a terminal only. */
async function showProgress(signal) {
  if (process.stderr.isTTY) return;
  let seconds = 0;
  try {
    for await (const _ of everyMs(PROGRESS_PERIOD_MS, undefined, { signal })) {
      seconds += PROGRESS_PERIOD_MS / 1000;
      process.stdout.write(`  still installing after ${seconds} s\n`);
    }
  } catch {
    // Aborted: the installation ended.
  }
}

/**
 * Kills the installation when this process gets a signal. npm goes on for a minute or more after a Ctrl-C and would
 * disturb the next installation, which starts afresh anyway. So a signal at once kills npm with everything that it
 * started, which is one process group, and ends this process.
 */
function endWithUs(child) {
  const stop = (signal) => {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
    process.kill(-child.pid, 'SIGKILL');
    fail('The installation was stopped; the next start begins it anew.', 128 + constants.signals[signal]);
  };
  for (const signal of PASSED_ON_SIGNALS) process.on(signal, stop);
  void watchParent(() => stop('SIGTERM'));
  child.once('close', () => PASSED_ON_SIGNALS.forEach((signal) => process.off(signal, stop)));
}

async function install(development) {
  process.stdout.write('Installing what is missing with npm ci; the first time this takes a minute or two.\n');
  // npm tells its scripts where it and its own Node are. That Node is used because the pinned one is about to be
  // replaced. Without npm in between, the npm on the PATH is used.
  const { npm_execpath: npmFile = '', npm_node_execpath: npmNode = process.execPath } = process.env;
  const npm = npmFile.endsWith('npm-cli.js') ? [npmNode, npmFile] : ['npm'];
  const args = ['ci', '--loglevel=error', '--no-audit', '--no-fund', development ? '--include=dev' : '--omit=dev'];
  const done = new AbortController();
  const progress = showProgress(done.signal);
  const child = spawn(npm[0], [...npm.slice(1), ...args], {
    cwd: root,
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  endWithUs(child);
  const code = await ended(child).catch((error) =>
    fail(`npm could not be started (${error.message}). Install Node ${NODE_MAJOR_MIN} or newer together with npm.`),
  );
  done.abort();
  await progress;
  if (code !== 0)
    fail(`The installation failed (npm ci ended with code ${code}). The lines above say why; then try again.`, code);
  if (!existsSync(pinnedNode)) {
    fail(
      'The package "node" was installed without its program, because npm runs no install scripts here (setting ' +
        'ignore-scripts).\n' +
        'Run: npm rebuild --ignore-scripts=false',
    );
  }
}

/**
 * Ends early if another program has the port, so that nobody waits minutes for an installation to learn it. Other
 * problems of the port are found later.
 */
async function requirePort(args) {
  const index = args.findIndex((argument) => argument === '--port' || argument.startsWith('--port='));
  const given = index < 0 ? PORT_DEFAULT : args[index].slice('--port='.length) || args[index + 1];
  const port = Number(given);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return;
  const server = createServer();
  const taken = await new Promise((resolve) => {
    server.once('error', ({ code }) => resolve(code === 'EADDRINUSE'));
    server.listen({ port, host: process.env.SLIPWAY_HTTP_HOST || '127.0.0.1', exclusive: true }, () =>
      server.close(() => resolve(false)),
    );
  });
  if (taken)
    fail(
      `Port ${port} is taken by another program. Choose another one: npm start -- --port ` +
        `${port < 60_000 ? port + 1 : port - 1}`,
      2,
    );
}

/** Runs one of our programs to its end. Returns its exit code. */
function runTool(file, output) {
  return ended(spawn(pinnedNode, [join(root, file)], { cwd: root, stdio: ['ignore', 'ignore', output] }));
}

async function generate(file) {
  if (!existsSync(join(root, file))) return;
  const code = await runTool(file, 'inherit');
  if (code !== 0) fail(`${file} failed with code ${code}. The lines above say why.`, code);
}

/** Patches packages and builds generated files that are not kept in git. */
async function buildGenerated() {
  await generate(PATCHES);
  await Promise.all(GENERATORS.map(generate));
}

/** Fills the compile cache. Processes that find nothing there compile for themselves, so a failure is no problem. */
async function compileAhead() {
  if (process.env.NODE_COMPILE_CACHE && existsSync(join(root, COMPILE_AHEAD))) await runTool(COMPILE_AHEAD, 'ignore');
}

/**
 * Calls `onGone` when the parent process has ended. A SIGTERM to npm alone ends npm and the shell between npm and this
 * process, but this process gets no signal. So under npm the end of that shell counts as the signal.
 */
async function watchParent(onGone) {
  if (!process.env.npm_lifecycle_event) return;
  const parent = process.ppid;
  for await (const _ of everyMs(PARENT_PERIOD_MS, undefined, { ref: false })) {
    if (process.ppid !== parent) return onGone();
  }
}

/**
 * Runs the command in its own process group, so that a terminal's signal reaches it exactly once: through this process.
 * If this process is killed, the command notices that its IPC channel has closed.
 */
async function run(file, args) {
  const path = [join(modules, '.bin'), process.env.PATH].filter(Boolean).join(delimiter);
  const child = spawn(pinnedNode, [join(root, file), ...args], {
    cwd: root,
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, PATH: path, INIT_CWD: process.env.INIT_CWD ?? process.cwd() },
  });
  let passedOn = false;
  const passOn = (signal) => {
    if (!passedOn) child.kill(signal);
    passedOn = true;
  };
  for (const signal of PASSED_ON_SIGNALS) process.on(signal, passOn);
  void watchParent(() => passOn('SIGTERM'));
  return ended(child).catch((error) =>
    fail(`${pinnedNode} cannot run here (${error.message}). Delete node_modules and try again.`),
  );
}

const given = process.argv.slice(2);
const prepareOnly = given[0] === '--prepare';
const [name, ...args] = prepareOnly ? given.slice(1) : given;
const command = COMMANDS[name];
if (!command) fail(`Unknown command ${name ?? ''}. Known are: ${Object.keys(COMMANDS).join(', ')}.`, 2);
if (Number(process.versions.node.split('.')[0]) < NODE_MAJOR_MIN) {
  fail(
    `Slipway needs Node ${NODE_MAJOR_MIN} or newer to install itself; this is Node ${process.versions.node}. See ` +
      'https://nodejs.org.',
  );
}
if (command.help && args.some((argument) => argument === '--help' || argument === '-h')) {
  process.stdout.write(readFileSync(join(root, command.help), 'utf8'));
  process.exit(0);
}
if (missingPackages(command.development).length > 0) {
  if (name === 'start') await requirePort(args);
  await install(command.development || hasDevelopmentPackages());
}
await onceFor({ root, name: 'generated', paths: GENERATED_FROM }, buildGenerated);
if (prepareOnly) {
  await onceFor({ root, name: 'compiled', paths: COMPILED_FROM, foldersOnly: true }, compileAhead);
  process.exit(CODE_PREPARED);
}
process.exitCode = await run(command.file, [...(command.args ?? []), ...args]);
