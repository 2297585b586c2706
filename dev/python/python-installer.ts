/**
 * What installs Python packages on this machine: uv (chosen because it takes seconds where pip takes a minute, and is
 * one wheel on PyPI) beside a pip of its own, in a folder made once. Settings that this machine's people gave to pip
 * hold for uv too; where uv does not know one, or is not to be had for this machine, pip does it.
 */
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runProgram } from '../processes/run-program.ts';
import type { FoundPython } from './find-python.ts';

const UV_REQUIREMENT = 'uv==0.13.9';

/** uv as it is to be called here. */
export interface Uv {
  program: string;
  /** Options that say what pip's settings say. */
  options: string[];
}

/** What finding it needs from outside. */
export interface InstallerDeps {
  /** Says a line of progress. */
  report(line: string): void;
  /** Ends the work early. */
  signal: AbortSignal;
}

/** Settings of pip as options of uv. A setting that is in neither list is one that only pip can follow. */
const TRANSLATED: Record<string, string> = {
  'index-url': '--default-index',
  'extra-index-url': '--index',
  'find-links': '--find-links',
  'trusted-host': '--allow-insecure-host',
};
/** They change nothing of what is installed, nor from where. */
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

/** Finds it, or makes it below a folder. Undefined: pip has to do the work. Never rejects. */
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

/** Others may make the same one at the same time, so it gets its name when it is whole. */
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

/** From the lines of `pip config list`, like `global.index-url='https://…'`. Undefined: only pip can follow them. */
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
