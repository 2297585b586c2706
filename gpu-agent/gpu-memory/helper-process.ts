/** The agent's side of one helper process (driver-helper.ts). */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { NODE_ENVIRONMENT } from '@slipway/kit/host/node-settings';
import type { HelperRequest, HelperResponse } from './helper-protocol.ts';
import { RESPONSES } from './helper-protocol.ts';

/** Ends a process group at once. */
function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

/** The helper ended without a response. */
export class HelperEndedError extends Error {}

export class HelperProcess {
  readonly #child: ChildProcess;
  #waiting: PromiseWithResolvers<HelperResponse> | undefined;
  /** Why it has ended. `undefined` while it can take requests. */
  #ended: string | undefined;

  /** Starts the helper. `env`: variables by which it finds the driver. */
  constructor(env: Readonly<Record<string, string>>) {
    this.#child = spawn(process.execPath, [join(import.meta.dirname, 'driver-helper.ts')], {
      cwd: '/',
      env: { ...NODE_ENVIRONMENT, ...env } as NodeJS.ProcessEnv,
      // Responses come on a descriptor of their own: the driver's library may write to stdout.
      stdio: ['pipe', 'ignore', 'ignore', 'pipe'],
      // Its process group ends with it: programs that it runs.
      detached: true,
    });
    this.#child.on('error', (error) => this.#end(error.message));
    this.#child.on('exit', (code, signal) => this.#end(`it ended with ${signal ?? `code ${code}`}`));
    // There are no streams if the agent has no free file descriptor. The error event follows.
    this.#child.stdin?.on('error', () => undefined);
    const responses = this.#child.stdio?.[RESPONSES] as Readable | undefined;
    if (!responses) return;
    createInterface({ input: responses }).on('line', (line) => {
      this.#waiting?.resolve(JSON.parse(line) as HelperResponse);
      this.#waiting = undefined;
    });
  }

  /** It can take no more requests. */
  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  /** Sends a request; one at a time. Rejects with HelperEndedError. */
  ask(request: HelperRequest): Promise<HelperResponse> {
    const waiting = Promise.withResolvers<HelperResponse>();
    if (this.#ended !== undefined)
      return Promise.reject(new HelperEndedError(`the helper process has ended: ${this.#ended}`));
    this.#waiting = waiting;
    this.#child.stdin?.write(`${JSON.stringify(request)}\n`);
    return waiting.promise;
  }

  /** Ends it at once, also in the middle of a call. */
  kill(): void {
    killGroup(this.#child.pid);
    this.#end('it was ended');
  }

  #end(why: string): void {
    this.#ended ??= why;
    this.#waiting?.reject(new HelperEndedError(`the helper process gave no answer: ${why}`));
    this.#waiting = undefined;
  }
}
