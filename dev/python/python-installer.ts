/**
 * Makes the installer of Python packages on this machine: uv, beside its own pip, in a folder that is made once.
 * uv is one wheel on PyPI and takes seconds where pip takes a minute. This machine's settings of pip apply to uv too.
 * If uv does not support one of them, or is not available for this machine, pip installs the packages.
 */
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runProgram } from '../processes/run-program.ts';
import type { FoundPython } from './find-python.ts';

const UV_REQUIREMENT = 'uv==0.13.9';

/** uv, and how to call it here. */
export interface Uv {
  program: string;
  /** Options of uv that are equivalent to pip's settings. */
  options: string[];
}

interface InstallerDeps {
  /** Reports a line of progress. */
  report(line: string): void;
  /** Ends the work early. */
  signal: AbortSignal;
}

/** Settings of pip and the equivalent options of uv. A setting that is in neither list is supported by pip only. */
const TRANSLATED: Record<string, string> = {
  'index-url': '--default-index',
  'extra-index-url': '--index',
  'find-links': '--find-links',
  'trusted-host': '--allow-insecure-host',
};
/** Settings that change neither what is installed nor where it comes from. */
const HARMLESS = new Set([
  'cert',
  'timeout',
  'default-timeout',
  'retries',
  'disable-pip-version-check',
  'no-input',
  'progress-bar',
  'root-user-action',
  'cache-dir',
  'no-cache-dir',
  'break-system-packages',
  'require-virtualenv',
  'no-color',
  'quiet',
  'verbose',
  'no-warn-script-location',
  'no-python-version-warning',
  'user',
]);

/** Finds uv, or installs it below a folder; `undefined` if pip has to do the work. Never rejects. */
export async function findUv(
  parentDir: string,
  { program, executable, version }: FoundPython,
  { report, signal }: InstallerDeps,
): Promise<Uv | undefined> {
  const name = createHash('sha256')
    .update(JSON.stringify([UV_REQUIREMENT, executable, version]))
    .digest('hex')
    .slice(0, 12);
  const dir = join(parentDir, `installer-${name}`);
  if (!existsSync(join(dir, 'bin', 'uv'))) {
    report('  getting uv, which installs packages fast');
    if (!(await makeInstaller(parentDir, dir, program, signal))) return undefined;
  }
  const { code, output } = await runProgram(join(dir, 'bin', 'python'), ['-m', 'pip', 'config', 'list'], { signal });
  const options = code === 0 ? uvOptions(output) : undefined;
  return options && { program: join(dir, 'bin', 'uv'), options };
}

/**
 * Installs uv. Other processes may do the same at the same time, so the folder gets its name only when it is complete.
 */
async function makeInstaller(parentDir: string, dir: string, program: string, signal: AbortSignal): Promise<boolean> {
  let draft: string | undefined;
  try {
    mkdirSync(parentDir, { recursive: true });
    draft = mkdtempSync(`${dir}.`);
    chmodSync(draft, 0o755);
    const venv = await runProgram(program, ['-m', 'venv', draft], { signal });
    if (venv.code !== 0) return false;
    const pip = await runProgram(
      join(draft, 'bin', 'python'),
      [
        '-m',
        'pip',
        'install',
        '--quiet',
        '--disable-pip-version-check',
        '--no-input',
        '--only-binary=:all:',
        UV_REQUIREMENT,
      ],
      { signal },
    );
    if (pip.code !== 0 || !existsSync(join(draft, 'bin', 'uv'))) return false;
    rmSync(dir, { recursive: true, force: true });
    renameSync(draft, dir);
    return true;
  } catch {
    return existsSync(join(dir, 'bin', 'uv'));
  } finally {
    if (draft) rmSync(draft, { recursive: true, force: true });
  }
}

/**
 * Translates the lines of `pip config list`, such as `global.index-url='https://…'`; `undefined` if only pip can follow
 * them.
 */
function uvOptions(lines: readonly string[]): string[] | undefined {
  const options: string[] = [];
  for (const line of lines) {
    const [, key = '', value = ''] = /^\S*\.([a-z-]+)=(.*)$/.exec(line.trim()) ?? [];
    if (key === '' || HARMLESS.has(key)) continue;
    const option = TRANSLATED[key];
    const values = /^'([^'\\]*(?:\\n[^'\\]*)*)'$/.exec(value)?.[1];
    if (option === undefined || values === undefined) return undefined;
    for (const one of values.split(/\\n|\s/).filter(Boolean)) options.push(option, one);
  }
  return options;
}
