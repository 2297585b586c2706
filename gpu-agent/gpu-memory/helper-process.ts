/** The broker's side of one helper process (driver-helper.ts). */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { NODE_ENVIRONMENT } from '@slipway/kit/host/node-settings';
import type { HelperRequest, HelperResponse } from './helper-protocol.ts';
import { RESPONSES } from './helper-protocol.ts';
import { Helper } from './helper-requests.ts';
import { killGroup } from './kill-group.ts';

export class HelperProcess extends Helper {
  readonly #child: ChildProcess;
  readonly #onEnd: (why: string) => void;

  /** Starts the helper. `env`: variables by which it finds the driver. `onEnd`: called once. */
  constructor(env: Readonly<Record<string, string>>, onEnd: (why: string) => void = () => undefined) {
    super();
    this.#onEnd = onEnd;
    this.#child = spawn(process.execPath, [join(import.meta.dirname, 'driver-helper.ts')], {
      cwd: '/',
      env: { ...NODE_ENVIRONMENT, ...env } as NodeJS.ProcessEnv,
      // Responses come on a descriptor of their own: the driver's library may write to stdout.
      stdio: ['pipe', 'ignore', 'ignore', 'pipe'],
      // Its process group ends with it: programs that it runs.
      detached: true,
    });
    this.#child.on('error', (error) => this.ended(error.message));
    this.#child.on('exit', (code, signal) => {
      // A program that it ran would continue to move memory of a worker whose move has failed.
      killGroup(this.#child.pid);
      this.ended(`it ended with ${signal ?? `code ${code}`}`);
    });
    // There are no streams without a free file descriptor. The error event follows.
    this.#child.stdin?.on('error', () => undefined);
    const responses = this.#child.stdio?.[RESPONSES] as Readable | undefined;
    if (!responses) return;
    createInterface({ input: responses }).on('line', (line) => this.responded(JSON.parse(line) as HelperResponse));
  }

  override kill(): void {
    killGroup(this.#child.pid);
    this.ended('it was ended');
  }

  protected override send(request: HelperRequest): void {
    this.#child.stdin?.write(`${JSON.stringify(request)}\n`);
  }

  protected override ended(why: string): boolean {
    const isNew = super.ended(why);
    if (isNew) this.#onEnd(why);
    return isNew;
  }
}
