/**
 * Child processes: the programs under test, which report when they are ready, and the bench's own children, which also
 * answer questions. Both ends of that small protocol are here.
 */

import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { NODE_ENVIRONMENT } from '@slipway/kit/host/node-settings';

/** Root folder of this checkout. */
export const ROOT = join(import.meta.dirname, '../..');
const START_MS_MAX = 60_000;
const STOP_MS_MAX = 10_000;

/** Message of a program that is ready. */
export interface Ready {
  ready: true;
  address?: string;
  addresses?: Record<string, string>;
  url?: string;
}

interface Question {
  id: number;
  ask: string;
  with: unknown;
}
interface Answer {
  id: number;
  answer?: unknown;
  error?: string;
}

/** A running child. */
export class Child {
  readonly ready: Ready;
  readonly #process: ChildProcess;
  readonly #open = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  #nextId = 1;

  private constructor(process: ChildProcess, ready: Ready) {
    this.#process = process;
    this.ready = ready;
    process.on('message', (message: Answer) => {
      const waiting = this.#open.get(message.id);
      this.#open.delete(message.id);
      if (message.error === undefined) waiting?.resolve(message.answer);
      else waiting?.reject(new Error(message.error));
    });
    process.once('exit', (code, signal) => {
      for (const waiting of this.#open.values())
        waiting.reject(new Error(`${process.spawnfile} ended with ${code ?? signal}`));
      this.#open.clear();
    });
  }

  /** Starts a file of this repository, or a file of another one by its absolute path, and waits until it is ready. */
  static async start(file: string, env: Record<string, string> = {}, execArgv: readonly string[] = []): Promise<Child> {
    const child = fork(resolve(ROOT, file), {
      env: { ...process.env, ...NODE_ENVIRONMENT, ...env },
      execArgv: [...execArgv],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const ready = await new Promise<Ready>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${file} was not ready after ${START_MS_MAX} ms`)), START_MS_MAX);
      child.once('exit', (code, signal) => {
        clearTimeout(timer);
        reject(new Error(`${file} ended with ${code ?? signal} before it was ready`));
      });
      child.once('message', (message: Ready) => {
        clearTimeout(timer);
        resolve(message);
      });
    });
    return new Child(child, ready);
  }

  get pid(): number {
    return this.#process.pid!;
  }

  /** Asks one of the bench's own children to do something. Resolves with its answer. */
  ask<Answer>(question: string, parameters: unknown = {}): Promise<Answer> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#open.set(id, { resolve: resolve as (value: unknown) => void, reject });
      this.#process.send({ id, ask: question, with: parameters } satisfies Question);
    });
  }

  /** Ends the child with SIGTERM, after a while with SIGKILL. */
  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, 'exit');
    this.#process.kill('SIGTERM');
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), STOP_MS_MAX);
    await ended;
    clearTimeout(timer);
  }

  /** Ends the child with SIGKILL, as if the machine lost its power. */
  async kill(): Promise<void> {
    const ended = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await ended;
  }
}

/** Runs the child's side: reports that it is ready and answers questions until the parent goes away. */
export function serveParent(
  ready: Omit<Ready, 'ready'>,
  answers: Record<string, (parameters: never) => Promise<unknown> | unknown>,
): void {
  process.on('message', async (question: Question) => {
    try {
      process.send!({ id: question.id, answer: await answers[question.ask]!(question.with as never) } satisfies Answer);
    } catch (error) {
      process.send!({
        id: question.id,
        error: error instanceof Error ? (error.stack ?? error.message) : String(error),
      } satisfies Answer);
    }
  });
  process.on('disconnect', () => process.exit(0));
  process.on('SIGTERM', () => process.exit(0));
  process.send!({ ready: true, ...ready });
}
