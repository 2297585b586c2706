/** One process of a test: started by the launcher's plan, killed and restarted by the test. */
import type { ChildProcess } from 'node:child_process';
import { closeSync } from 'node:fs';
import type { ProcessPlan } from '@slipway/dev/processes/supervised-process';
import { PATIENCE_MS, waitFor } from './time/wait-for.ts';

export class Child<Ready> {
  readonly #plan: ProcessPlan<Ready>;
  #child: ChildProcess | undefined;
  #ended: Promise<void> = Promise.resolve();
  #isAsked = false;
  /** Called if the process ends although the test neither killed nor stopped it. */
  onEndedByItself: (how: string) => void = () => undefined;
  /** When it was last started, in milliseconds since 1970. */
  startedAtMs = 0;
  /** When it was ready after that. */
  readyAtMs = 0;

  constructor(plan: ProcessPlan<Ready>) {
    this.#plan = plan;
  }

  /** Its process id. */
  get pid(): number {
    return this.#child!.pid!;
  }

  /** For messages. */
  get name(): string {
    return this.#plan.name;
  }

  /** The last lines it wrote. */
  get tail(): string {
    return this.#plan.log.tail();
  }

  /** Starts the process, and again if it does not come up, as its launcher would. Resolves when it is ready. */
  async start(): Promise<Ready> {
    this.startedAtMs = Date.now();
    const { ready } = await waitFor(
      `${this.name} to start`,
      async () => ({ ready: await this.#launch() }),
      PATIENCE_MS,
    );
    this.readyAtMs = Date.now();
    this.#child!.once('exit', (code, signal) => {
      if (!this.#isAsked)
        this.onEndedByItself(
          `${this.name} ended by itself (${signal ?? `code ${code}`}). Its last lines:\n${this.tail}`,
        );
    });
    return ready;
  }

  /** Kills the process and waits for its end. */
  async kill(): Promise<void> {
    this.#isAsked = true;
    this.#child?.kill('SIGKILL');
    await this.#ended;
  }

  /** Waits for the end of the process if something else ends it, and does not count that as a failure. */
  async endedByOther(): Promise<void> {
    this.#isAsked = true;
    await this.#ended;
  }

  /** Asks it to stop and waits for its end. */
  async stop(): Promise<void> {
    this.#isAsked = true;
    this.#child?.kill(this.#plan.stopSignal ?? 'SIGTERM');
    await this.#ended;
  }

  async #launch(): Promise<Ready> {
    const output = this.#plan.log.open();
    const child = await this.#plan.spawn(output);
    closeSync(output);
    this.#child = child;
    this.#isAsked = false;
    const gone = new AbortController();
    this.#ended = new Promise((resolve) => {
      child.once('exit', () => {
        gone.abort();
        resolve();
      });
    });
    const died = this.#ended.then(() => {
      throw new Error(`${this.name} ended before it was ready:\n${this.tail}`);
    });
    return Promise.race([this.#plan.whenReady(child, gone.signal), died]);
  }
}
