/** The agent's side of one helper process (driver-helper.ts). */
import type { ChildProcessByStdio } from 'node:child_process';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { NODE_ENVIRONMENT } from '@slipway/kit/host/node-settings';
import type { HelperRequest, HelperResponse } from './helper-protocol.ts';

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
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  #waiting: PromiseWithResolvers<HelperResponse> | undefined;
  #hasEnded = false;

  /** Starts the helper. `env`: variables by which it finds the driver. */
  constructor(env: Readonly<Record<string, string>>) {
    this.#child = spawn(process.execPath, [join(import.meta.dirname, 'driver-helper.ts')], {
      cwd: '/',
      env: { ...NODE_ENVIRONMENT, ...env } as NodeJS.ProcessEnv,
      stdio: ['pipe', 'pipe', 'ignore'],
      // Its process group ends with it: programs that it runs.
      detached: true,
    });
    this.#child.stdin.on('error', () => undefined);
    this.#child.on('error', (error) => this.#end(error.message));
    this.#child.on('exit', (code, signal) => this.#end(`it ended with ${signal ?? `code ${code}`}`));
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      this.#waiting?.resolve(JSON.parse(line) as HelperResponse);
      this.#waiting = undefined;
    });
  }

  /** It can take no more requests. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Sends a request; one at a time. Rejects with HelperEndedError. */
  ask(request: HelperRequest): Promise<HelperResponse> {
    const waiting = Promise.withResolvers<HelperResponse>();
    if (this.#hasEnded) return Promise.reject(new HelperEndedError('the helper process has ended'));
    this.#waiting = waiting;
    this.#child.stdin.write(`${JSON.stringify(request)}\n`);
    return waiting.promise;
  }

  /** Ends it at once, also in the middle of a call. */
  kill(): void {
    this.#hasEnded = true;
    killGroup(this.#child.pid);
    this.#end('it was ended');
  }

  #end(why: string): void {
    this.#hasEnded = true;
    this.#waiting?.reject(new HelperEndedError(`the helper process gave no answer: ${why}`));
    this.#waiting = undefined;
  }
}
