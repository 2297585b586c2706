/** Makes Python environments for handlers and tests: one for each set of requirements, made once and then reused. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Clock, Timer } from '@slipway/kit/time/clock';
import { UsageError } from '../options.ts';
import { runProgram } from '../processes/run-program.ts';
import type { FoundPython } from './find-python.ts';
import { findPython } from './find-python.ts';
import type { Uv } from './python-installer.ts';
import { findUv } from './python-installer.ts';
import type { PackagesOptions } from './python-packages.ts';
import { installWithPip, installWithUv } from './python-packages.ts';

/** Content and location of an environment. */
interface VenvOptions {
  requirements: PackagesOptions['requirements'];
  /** Compiles bytecode in the background: workers run as users who cannot write the environment. Default: true. */
  compile?: boolean;
  /** Folder of the environments. Each is named by a hash of its requirements. */
  parentDir: string;
  /** Name instead of the hash. An environment of that name with other requirements is made anew. */
  name?: string;
}

export interface VenvDeps {
  /** Reports a line of progress. */
  report(line: string): void;
  /** Ends the work early. */
  signal: AbortSignal;
  clock: Clock;
}

const STAMP = 'slipway-requirements';
const TAIL_LINES = 15;
/** Longest time without a line of progress, in milliseconds. */
const QUIET_MS_MAX = 10_000;

/** Makes the environment unless it exists. Returns the path of its python. Throws UsageError with what to do. */
export async function makeVenv(options: VenvOptions, deps: VenvDeps): Promise<string> {
  const { file, more } = options.requirements;
  const found = await anyPython(deps.signal);
  // A requirements.txt may refer to files beside it, so its folder is part of the identity.
  const identity = JSON.stringify([found, file && dirname(file), file && readFileSync(file, 'utf8'), more]);
  const hash = createHash('sha256').update(identity).digest('hex').slice(0, 12);
  const dir = join(options.parentDir, options.name ?? hash);
  const python = join(dir, 'bin', 'python');
  const stamp = join(dir, STAMP);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash && existsSync(python)) return python;
  prepareFolder(options.parentDir, dir);
  deps.report(`making a Python environment (Python ${found.version}) in ${dir}`);
  const ticking = reportStillRunning(deps);
  try {
    await fill({ found, dir, python }, options, deps);
  } finally {
    ticking.cancel();
  }
  writeFileSync(stamp, hash);
  if (options.compile ?? true) compileAside(python, dir, deps.signal);
  return python;
}

/**
 * Compiles the packages in the background, at the lowest priority. The first worker does not wait for it: it loads a
 * small part of them. Later workers start sooner. What is missing after a stop costs them time and nothing else.
 */
function compileAside(python: string, dir: string, signal: AbortSignal): void {
  const nice = ['-n', '19', python, '-m', 'compileall', '-q', join(dir, 'lib')];
  runProgram('nice', nice, { signal }).catch(() => undefined);
}

async function fill(
  { found, dir, python }: { found: FoundPython; dir: string; python: string },
  options: VenvOptions,
  deps: VenvDeps,
): Promise<void> {
  const packages = { python, requirements: options.requirements, report: deps.report, signal: deps.signal };
  const uv = await findUv(options.parentDir, found, deps);
  if (uv) {
    await makeEmptyVenv(found.program, dir, ['--without-pip'], deps.signal);
    if (await installOrRemove(uv, packages, dir)) return;
    deps.report('  trying pip');
    rmSync(dir, { recursive: true, force: true });
  }
  await makeEmptyVenv(found.program, dir, [], deps.signal);
  await installWithPip(packages);
}

async function installOrRemove(uv: Uv, packages: PackagesOptions, dir: string): Promise<boolean> {
  try {
    return await installWithUv(uv, packages);
  } catch (error) {
    rmSync(dir, { recursive: true, force: true });
    throw error;
  }
}

function reportStillRunning({ clock, report }: VenvDeps): Timer {
  const startedMs = clock.monotonicMs();
  const say = (): void => {
    report(`  still at it after ${Math.round((clock.monotonicMs() - startedMs) / 1000)} s`);
    timer = clock.after(QUIET_MS_MAX, say);
  };
  let timer = clock.after(QUIET_MS_MAX, say);
  return { cancel: () => timer.cancel() };
}

function prepareFolder(parentDir: string, dir: string): void {
  try {
    rmSync(dir, { recursive: true, force: true });
    mkdirSync(parentDir, { recursive: true });
  } catch (error) {
    throw new UsageError(`No Python environment can be created in ${parentDir}: ${(error as Error).message}`);
  }
}

/** Returns how to install Python on this machine. */
export function pythonInstallHint(): string {
  if (process.platform === 'darwin') return 'brew install python  (or the installer of python.org)';
  if (existsSync('/etc/debian_version')) return 'sudo apt-get install python3 python3-venv';
  if (existsSync('/etc/redhat-release')) return 'sudo dnf install python3';
  if (existsSync('/etc/arch-release')) return 'sudo pacman -S python';
  return 'install Python 3.10 or newer with its venv module';
}

async function anyPython(signal: AbortSignal): Promise<FoundPython> {
  const found = await findPython(signal);
  if (signal.aborted) throw new UsageError('Stopped before a Python environment was made.');
  if (!found)
    throw new UsageError(`Python handlers need python3, which is missing here. Install it:\n  ${pythonInstallHint()}`);
  return found;
}

async function makeEmptyVenv(program: string, dir: string, options: string[], signal: AbortSignal): Promise<void> {
  const { code, output } = await runProgram(program, ['-m', 'venv', ...options, dir], { signal });
  if (code === 0) return;
  rmSync(dir, { recursive: true, force: true });
  if (signal.aborted) throw new UsageError('Stopped while making a Python environment.');
  const tail = output.slice(-TAIL_LINES).join('\n');
  const hint = pythonInstallHint();
  throw new UsageError(
    `${program} cannot make an environment (${program} -m venv failed):\n${tail}\nInstall what is missing:\n  ${hint}`,
  );
}
