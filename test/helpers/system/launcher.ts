/** Runs the launcher of `npm start` as a child process, after the installation. */

import type { ChildProcess } from 'node:child_process';
import { execFileSync, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Test } from 'tap';
import { PATIENCE_MS, waitFor } from '../time/wait-for.ts';
import type { ProcessEntry } from './process-table.ts';
import { descendants } from './process-table.ts';

const root = join(import.meta.dirname, '../../..');
const node = join(root, 'node_modules/.bin/node');

/** Returns the facts of local.env by name, read as a shell reads them. */
export function readFacts(file: string): Record<string, string> {
  const script = `set -a; . "$1"; exec "$2" -e 'console.log(JSON.stringify(process.env))'`;
  return JSON.parse(execFileSync('/bin/sh', ['-c', script, 'sh', file, node], { encoding: 'utf8', env: {} })) as Record<
    string,
    string
  >;
}

/** One run of the launcher. */
export class Launcher {
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | NodeJS.Signals>;
  /** All output so far. */
  text = '';

  /**
   * Starts the launcher. It ends with the test. If the whole process group is killed, it ends because its channel
   * closes.
   */
  constructor(t: Test, ...args: string[]) {
    this.#child = spawn(node, [join(root, 'dev/start.ts'), ...args], {
      cwd: root,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    for (const stream of [this.#child.stdout!, this.#child.stderr!])
      stream.on('data', (part: Buffer) => {
        this.text += part.toString();
      });
    this.#ended = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => resolve(code ?? signal!));
    });
    t.teardown(async () => {
      if (!t.passing()) t.comment(this.text);
      await this.end('SIGTERM');
    });
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** Resolves when the launcher prints that it is ready. Returns the seconds that it counted. */
  async ready(timeoutMs = PATIENCE_MS): Promise<number> {
    const found = await waitFor(
      'npm start to be ready',
      () => (this.#child.exitCode !== null ? 'ended' : /Slipway is ready after ([\d.]+) s/.exec(this.text)),
      timeoutMs,
    );
    if (found === 'ended') throw new Error(`npm start ended before it was ready: ${this.text}`);
    return Number(found[1]);
  }

  /** Returns the launcher's process and all its descendants. */
  processes(): ProcessEntry[] {
    return descendants(this.pid);
  }

  /** Sends a signal and waits for the end. Returns the exit code or the signal that ended it. */
  async end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals> {
    this.#child.kill(signal);
    return this.#ended;
  }

  /** Waits until the launcher ends without a signal from the test. */
  exit(): Promise<number | NodeJS.Signals> {
    return this.#ended;
  }
}
