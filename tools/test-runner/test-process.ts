/**
 * Processes of a test run: one for a single file, or one that many files share. A shared process is replaced when a
 * file has spoiled it.
 */

import type { ChildProcess } from 'node:child_process';
import { fork, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { NODE_FLAGS } from '@slipway/kit/host/node-settings';
import type { Clock } from '@slipway/kit/time/clock';
import type { ProcessorTime } from './processor-time.ts';
import type { FileOrder, FileOutcome } from './test-worker.ts';

/** Default time limit of a file, in milliseconds. A file may set another one (`t.setTimeout`). */
const FILE_MS = 600_000;
/** Time after which a file is killed, in milliseconds. It is stuck then, because it has ignored its own limit. */
const STUCK_MS = 1_500_000;
/**
 * Time for things that a test left to end by themselves, such as a connection that is kept open for the next request,
 * in milliseconds.
 */
const END_MS = 60_000;
/** Options that load the hook before tap. */
const PRELOADED = ['--import', pathToFileURL(join(import.meta.dirname, 'test-domain-hook.ts')).href];

type Ending = number | NodeJS.Signals;

/** Output of a file and how it ended: 0 if all is well, else an exit code, a signal or a sentence. */
export interface FileResult {
  lines: string[];
  how: number | string;
}

/** Resolves with how the process ended. `event`: 'close' also waits for the last output. */
function ending(child: ChildProcess, event: 'exit' | 'close'): Promise<Ending> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once(event, (code, signal) => resolve(code ?? signal ?? 1));
  });
}

/** Resolves with the outcome of a file. tap also sends its own messages over the channel. */
function outcomeOf(child: ChildProcess): Promise<FileOutcome> {
  return new Promise((resolve) => {
    const read = (message: Partial<FileOutcome>): void => {
      if (message.tap === undefined) return;
      child.off('message', read);
      resolve(message as FileOutcome);
    };
    child.on('message', read);
  });
}

/** Returns 0 if all is well, 1 for failed assertions, or a sentence if the file left its process changed. */
function howOf({ ok, changed }: FileOutcome): number | string {
  if (!ok) return 1;
  return changed.length === 0 ? 0 : `it left ${changed.join(', ')} changed: restore it, or declare "// test: alone"`;
}

/** Runs a file in a separate process, whose processor time is counted. */
export async function runAlone(file: string, slot: number, clock: Clock, used: ProcessorTime): Promise<FileResult> {
  // TAP=1 selects plain TAP without colours. The file itself applies the time limit.
  const env = { ...process.env, TAP: '1', TAP_TIMEOUT: String(FILE_MS / 1000), TAP_JOB_ID: String(slot) };
  const child = spawn(process.execPath, [...PRELOADED, file], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  if (child.pid !== undefined) used.add(child.pid);
  const stuck = clock.after(STUCK_MS, () => child.kill('SIGKILL'));
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  const how = await ending(child, 'close');
  stuck.cancel();
  return { lines, how };
}

/** One process for many files, one at a time. */
export class SharedProcess {
  readonly #slot: number;
  readonly #clock: Clock;
  readonly #endMs: number;
  readonly #used: ProcessorTime | undefined;
  #child: { process: ChildProcess; ended: Promise<Ending> } | undefined;
  #open: readonly string[] = [];

  /**
   * `endMs`: time that the process has to end after it was told to, in milliseconds. `used` counts its processor time.
   * Default: not counted.
   */
  constructor(slot: number, clock: Clock, endMs = END_MS, used?: ProcessorTime) {
    this.#slot = slot;
    this.#clock = clock;
    this.#endMs = endMs;
    this.#used = used;
  }

  /**
   * Runs a file. If it failed, the process is replaced, so that nothing that still runs in it can disturb the next
   * file.
   */
  async run(file: string): Promise<FileResult> {
    const { process: child, ended } = (this.#child ??= this.#start());
    const stuck = this.#clock.after(STUCK_MS, () => child.kill('SIGKILL'));
    const answered = outcomeOf(child);
    child.send({ file, limitMs: FILE_MS } satisfies FileOrder);
    const result: FileOutcome | Ending = await Promise.race([answered, ended]);
    stuck.cancel();
    const outcome = typeof result === 'object' ? result : undefined;
    const how = typeof result === 'object' ? howOf(result) : result || 1;
    this.#open = outcome?.open ?? [];
    if (how !== 0) {
      this.#child = undefined;
      child.kill('SIGKILL');
      await ended;
    }
    return { lines: outcome?.tap.split('\n').slice(0, -1) ?? [], how };
  }

  /** Lets the process end. Returns what kept it from ending by itself; `undefined` if all is well. */
  async end(): Promise<string | undefined> {
    if (!this.#child) return undefined;
    const { process: child, ended } = this.#child;
    this.#child = undefined;
    const late = this.#clock.after(this.#endMs, () => child.kill('SIGKILL'));
    child.disconnect();
    const how = await ended;
    late.cancel();
    return how === 0 ? undefined : `${how}; open after the last file: ${this.#open.join(', ')}`;
  }

  #start(): { process: ChildProcess; ended: Promise<Ending> } {
    const child = fork(join(import.meta.dirname, 'test-worker.ts'), {
      // Core and a facade run in this process, so it has the same flags as their own processes.
      execArgv: [...PRELOADED, ...NODE_FLAGS],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      // The process's own test has no time limit, because each file has one.
      env: { ...process.env, TAP: '1', TAP_TIMEOUT: '0', TAP_JOB_ID: String(this.#slot) },
    });
    if (child.pid !== undefined) this.#used?.add(child.pid);
    return { process: child, ended: ending(child, 'exit') };
  }
}
