/** Processes of a cluster. Whatever ends the process that started them ends all of them. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { delay, systemClock } from '@slipway/kit/time/clock';
import type { NodeProgram } from './kube-programs.ts';
import { type CONTROL_PLANE, kubeProgram } from './kube-programs.ts';

export type Program = (typeof CONTROL_PLANE)[number] | NodeProgram;

const POLL_MS = 50;
const START_MS_MAX = 120_000;
const TAIL_LINES = 20;
/**
 * Blocks until the process that started the cluster closes the pipe or is gone. Then it ends all programs of the folder
 * and removes it. The command line is checked because another program may have got the number since.
 */
const REAP = `
cat >/dev/null
for pid in $(cat "$1/pids"); do
  grep -aqF -- "$1" "/proc/$pid/cmdline" 2>/dev/null && kill -9 "$pid"
done
[ ! -f "$1/node/end.sh" ] || sh "$1/node/end.sh"
rm -rf -- "$1"
`;

/** Processes of a cluster, whose end is the end of the reaper's input. */
export class Programs {
  readonly #folder: string;
  readonly #reaper: ChildProcess;
  readonly #reaped: Promise<unknown>;
  readonly #running = new Map<Program, { args: readonly string[]; command: string; child: ChildProcess }>();

  constructor(folder: string) {
    this.#folder = folder;
    writeFileSync(this.#pids, '');
    // The reaper has its own session, because it must outlive a signal to this process's group.
    this.#reaper = spawn('/bin/sh', ['-c', REAP, 'sh', folder], {
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#reaper.stdin!.on('error', () => undefined);
    this.#reaped = once(this.#reaper, 'exit');
  }

  get #pids(): string {
    return join(this.#folder, 'pids');
  }

  /** Starts a program. `command`: what runs it; default its own file. */
  start(name: Program, args: readonly string[], command = kubeProgram(name)): void {
    const log = openSync(this.#log(name), 'a');
    const child = spawn(command, args, { cwd: this.#folder, stdio: ['ignore', log, log] });
    closeSync(log);
    child.on('error', () => undefined);
    if (child.pid !== undefined) appendFileSync(this.#pids, `${child.pid}\n`);
    this.#running.set(name, { args, command, child });
  }

  /** Returns the id of its process. */
  pid(name: Program): number {
    return this.#running.get(name)!.child.pid!;
  }

  /** Starts a killed program again. */
  restart(name: Program): void {
    const { args, command } = this.#running.get(name)!;
    this.start(name, args, command);
  }

  /** Ends a program at once. */
  async kill(name: Program): Promise<void> {
    const { child } = this.#running.get(name)!;
    if (hasEnded(child)) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  /** Waits for a condition that a program brings about. Throws with its last lines if it ends, or takes too long. */
  async until(name: Program, check: () => Promise<boolean> | boolean): Promise<void> {
    const deadline = systemClock.monotonicMs() + START_MS_MAX;
    while (!(await check())) {
      const isLate = systemClock.monotonicMs() > deadline;
      if (isLate || hasEnded(this.#running.get(name)!.child))
        throw new Error(`${name} ${isLate ? 'is not ready' : 'ended'}; its last lines:\n${this.tail(name)}`);
      await delay(systemClock, POLL_MS);
    }
  }

  /** Returns the last lines of its log. */
  tail(name: Program): string {
    return readFileSync(this.#log(name), 'utf8').split('\n').slice(-TAIL_LINES).join('\n');
  }

  /** Ends all programs and removes the folder. */
  async stop(): Promise<void> {
    this.#reaper.stdin!.end();
    await this.#reaped;
  }

  #log(name: Program): string {
    return join(this.#folder, `${name}.log`);
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}
