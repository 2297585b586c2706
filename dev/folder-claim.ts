/**
 * Lets only one launcher at a time use a data folder. A file in the folder records the launcher, the processes that it
 * has started and whether it is stopping. The next start can then wait for processes that are about to end, however
 * their `npm start` ended.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { FolderLockedError, lockFolder } from '@slipway/kit/host/folder-lock';
import type { Clock } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import { UsageError } from './options.ts';
import type { DataDir } from './postgres/data-dir.ts';
import { commandOf } from './postgres/data-dir.ts';

const POLL_MS = 50;
/**
 * Longest time that a launcher may take to notice that its npm start was killed, in milliseconds. A launcher that still
 * runs after it is not a leftover.
 */
const NOTICE_MS_MAX = 2_000;
/**
 * Longest wait for leftovers to end, in milliseconds. It is longer than an orderly stop in which every process must be
 * killed in the end.
 */
const LEFTOVER_MS_MAX = 30_000;

/** Settings of a wait for an earlier run. */
interface WaitOptions {
  clock: Clock;
  /** Aborts the wait. */
  signal: AbortSignal;
  /** Reports what is being waited for. */
  report(line: string): void;
}

/** Claim of this launcher on a data folder. */
export interface FolderClaim {
  /** True if an earlier launcher was killed. Its processes may still be ending. */
  earlierWasKilled: boolean;
  /**
   * Waits until the processes of a killed launcher have ended, which they do by themselves. Throws UsageError if one of
   * them does not.
   */
  leftoversEnded(waitOptions: WaitOptions): Promise<void>;
  /** Records a process that was started. The file name of its program must contain `name`. */
  note(name: string, pid: number): void;
  /** Records that this launcher is stopping. */
  stopping(): void;
  /** Releases the folder. */
  release(): void;
}

/** Content of the file. An earlier release wrote the launcher's process id alone. */
interface Run {
  launcher: number;
  stopping: boolean;
  processes: Record<string, number>;
}

/**
 * Makes this process the only launcher of the folder. Throws UsageError while another launcher runs, including one that
 * starts at the same moment. With `waitOptions`, it waits for a launcher that is stopping.
 */
export async function claimDataDir(
  data: DataDir,
  launcherFile: string,
  waitOptions?: WaitOptions,
): Promise<FolderClaim> {
  const startedMs = waitOptions?.clock.monotonicMs() ?? 0;
  for (let reported = false; ; ) {
    const unlock = await lock(data, launcherFile);
    if (unlock) return claim(data, unlock);
    const { launcher, stopping } = readRun(data.pidFile) ?? {};
    if (!waitOptions) throw alreadyRuns(data, launcher);
    const waitedMs = waitOptions.clock.monotonicMs() - startedMs;
    if (waitOptions.signal.aborted || waitedMs > (stopping ? LEFTOVER_MS_MAX : NOTICE_MS_MAX))
      throw alreadyRuns(data, launcher);
    if (stopping && !reported) waitOptions.report(`waiting for the run before this one (process ${launcher}) to end`);
    reported ||= stopping === true;
    await delay(waitOptions.clock, POLL_MS, waitOptions.signal);
  }
}

/** Locks the folder and returns a function that releases it; `undefined` while another launcher holds it. */
async function lock({ dir, pidFile }: DataDir, launcherFile: string): Promise<(() => void) | undefined> {
  const unlock = await lockFolder(dir, 'launcher').catch((error: unknown) => {
    if (error instanceof FolderLockedError) return undefined;
    throw error;
  });
  const earlier = readRun(pidFile)?.launcher;
  // Checked as well as the lock: some systems have no locks, and a lock may end before its process does.
  if (!unlock || earlier === undefined || earlier === process.pid || !commandOf(earlier)?.includes(launcherFile))
    return unlock;
  unlock();
  return undefined;
}

function claim({ pidFile }: DataDir, unlock: () => void): FolderClaim {
  const earlierWasKilled = existsSync(pidFile);
  const run: Run = { launcher: process.pid, stopping: false, processes: readRun(pidFile)?.processes ?? {} };
  let released = false;
  const save = (): void => writeFileSync(pidFile, `${JSON.stringify(run)}\n`);
  const trySave = (): void => {
    // Only the next start reads this file. A full disk must not keep this launcher from running or stopping.
    try {
      if (!released) save();
    } catch {
      return;
    }
  };
  save();
  return {
    earlierWasKilled,
    leftoversEnded: (waitOptions) => leftoversEnded(run, waitOptions),
    note: (name, pid) => {
      run.processes[name] = pid;
      trySave();
    },
    stopping: () => {
      run.stopping = true;
      trySave();
    },
    release: () => {
      released = true;
      rmSync(pidFile, { force: true });
      unlock();
    },
  };
}

async function leftoversEnded({ processes }: Run, { clock, signal, report }: WaitOptions): Promise<void> {
  const untilMs = clock.monotonicMs() + LEFTOVER_MS_MAX;
  const left = (): [string, number][] =>
    Object.entries(processes).filter(([name, pid]) => commandOf(pid)?.includes(name));
  for (let reported = ''; !signal.aborted; await delay(clock, POLL_MS, signal)) {
    const names = left()
      .map(([name, pid]) => `${name} (process ${pid})`)
      .join(', ');
    if (names === '') return;
    if (clock.monotonicMs() > untilMs) {
      const ids = left()
        .map(([, pid]) => pid)
        .join(' ');
      throw new UsageError(
        `Of an earlier run that was killed there still run ${names}. End them by hand: kill -9 ${ids}`,
      );
    }
    if (names !== reported) report(`an earlier run was killed; waiting for its processes to end: ${names}`);
    reported = names;
  }
}

function readRun(pidFile: string): Run | undefined {
  try {
    const found = JSON.parse(readFileSync(pidFile, 'utf8')) as Partial<Run> | number;
    const {
      launcher = NaN,
      stopping = false,
      processes = {},
    } = typeof found === 'number' ? { launcher: found } : found;
    return Number.isInteger(launcher) ? { launcher, stopping, processes } : undefined;
  } catch {
    // There is no file, or it is just being written.
    return undefined;
  }
}

function alreadyRuns({ dir }: DataDir, pid: number | undefined): UsageError {
  return new UsageError(
    `Slipway already runs from ${dir}${pid === undefined ? '' : ` (process ${pid})`}. ` +
      'Stop it first, or give this one its own --data-dir and --port.',
  );
}
