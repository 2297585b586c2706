/** Installs packages into a Python environment and reports the progress. */
import { UsageError } from '../options.ts';
import { runProgram } from '../processes/run-program.ts';
import type { Uv } from './python-installer.ts';

/** Packages to install, and where to report. */
export interface PackagesOptions {
  /** Path of the environment's python. */
  python: string;
  /** A requirements.txt and further requirements. */
  requirements: { file?: string; more: string[] };
  /** Reports a line of progress. */
  report(line: string): void;
  /** Ends the work early. */
  signal: AbortSignal;
}

const TAIL_LINES = 15;
/** Packages per line of progress. A hundred packages are not rare. */
const COLLECTED_PERIOD = 10;

/**
 * Options that make uv work like pip. It resolves a requirement from several indexes as pip does. It copies files,
 * because a worker must not change uv's cache.
 */
const AS_PIP = ['--index-strategy', 'unsafe-best-match', '--link-mode', 'copy', '--no-progress', '--color', 'never'];

/** Words of uv for requirements that no installer can satisfy. */
const UNSATISFIABLE = /No solution found when resolving|Failed to parse|Couldn't parse requirement|File not found/i;

/**
 * Installs the packages with uv. Returns false if uv could not, so that pip can try. Throws UsageError with uv's words
 * if the requirements cannot be satisfied: pip would find the same, later.
 */
export async function installWithUv(
  { program, options }: Uv,
  { python, requirements, report, signal }: PackagesOptions,
): Promise<boolean> {
  const { file, more } = requirements;
  if (!file && more.length === 0) return true;
  report(`installing ${names(requirements)}; the first time this takes some seconds`);
  const { code, output } = await runProgram(
    program,
    [...['pip', 'install', '--python', python, ...AS_PIP], ...options, ...wanted(requirements), 'pip'],
    {
      signal,
      onLine: (line) => {
        if (/^ *(Resolved|Downloading|Prepared|Installed|Building) /.test(line)) report(`  ${line.trim()}`);
      },
    },
  );
  if (signal.aborted) throw stopped();
  if (code === 0) return true;
  const words = output.slice(-TAIL_LINES).join('\n');
  if (UNSATISFIABLE.test(words))
    throw new UsageError(`${wanted(requirements).join(' ')} cannot be installed:\n${words}`);
  report(`  uv could not install them:\n${words}`);
  return false;
}

/** Installs the packages with pip. Throws UsageError with the end of pip's output. */
export async function installWithPip({ python, requirements, report, signal }: PackagesOptions): Promise<void> {
  if (!requirements.file && requirements.more.length === 0) return;
  report(`installing ${names(requirements)} with pip; the first time this takes a minute`);
  const args = [
    '-m',
    'pip',
    'install',
    '--disable-pip-version-check',
    '--no-input',
    '--progress-bar',
    'off',
    ...wanted(requirements),
  ];
  let collected = 0;
  const { code, output } = await runProgram(python, args, {
    signal,
    onLine: (line) => {
      const [, step, name] = /^(Collecting|Building wheel for|Installing collected) (\S+)/.exec(line) ?? [];
      if (step === 'Collecting') collected += 1;
      if (step === 'Collecting' && collected % COLLECTED_PERIOD !== 1) return;
      if (step === 'Collecting') report(`  pip: package ${collected}, ${name}`);
      else if (step)
        report(step.startsWith('Building') ? `  pip: building ${name}` : `  pip: installing ${collected} packages`);
    },
  });
  if (code === 0) return;
  if (signal.aborted) throw stopped();
  throw new UsageError(
    `pip could not install ${wanted(requirements).join(' ')}:\n${output.slice(-TAIL_LINES).join('\n')}`,
  );
}

function wanted({ file, more }: PackagesOptions['requirements']): string[] {
  return [...(file ? ['-r', file] : []), ...more];
}

function names({ file, more }: PackagesOptions['requirements']): string {
  return [file, ...more].filter(Boolean).join(' and ');
}

function stopped(): UsageError {
  return new UsageError('Stopped while installing Python packages.');
}
