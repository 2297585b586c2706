/** A shell that a test types commands into, one block after the other, and what it says. */

import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '../helpers/time/wait-for.ts';

const root = join(import.meta.dirname, '../..');

/** Returns a folder whose `npx slipway` is the command without npm around it. */
export function directNpx(folder: string): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const program =
    '#!/bin/sh\n' +
    `[ "$1" = slipway ] && shift && exec '${process.execPath}' '${join(root, 'cli/slipway.mjs')}' "$@"\n` +
    'exit 1\n';
  writeFileSync(join(bin, 'npx'), program, { mode: 0o755 });
  return bin;
}

export class Shell {
  readonly #child: ChildProcess;
  #blocks = 0;
  /** All output so far. */
  text = '';

  /** `inside`: the command that starts it, on another host for instance. */
  constructor(env: Readonly<Record<string, string | undefined>>, cwd: string, inside: readonly string[] = []) {
    const [program, ...args] = [...inside, '/bin/bash'];
    this.#child = spawn(program!, args, {
      env: env as NodeJS.ProcessEnv,
      cwd,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    for (const stream of [this.#child.stdout!, this.#child.stderr!])
      stream.on('data', (part: Buffer) => {
        this.text += part.toString();
      });
  }

  /** Types a block and waits for its end. Throws if one of its commands fails. Returns its output. */
  async run(block: string): Promise<string> {
    const from = this.text.length;
    const mark = `block ${(this.#blocks += 1)} ended with`;
    // Not in a shell of its own: what a block sets is there for the next one.
    this.#child.stdin!.write(
      `set -e; trap 'echo "${mark} $?"' EXIT\n${block}\nset +e; trap - EXIT; echo "${mark} 0"\n`,
    );
    const [, code] = await waitFor(`the block: ${block}`, () => new RegExp(`${mark} (\\d+)`).exec(this.text), 240_000);
    const said = this.text.slice(from);
    if (code !== '0') throw new Error(`${block}\nended with ${code}:\n${said}`);
    return said;
  }

  /** Types a command that runs until the shell's end, and waits for the output that `ready` matches. */
  async keep(block: string, ready: RegExp): Promise<void> {
    this.#child.stdin!.write(`${block}\n`);
    await waitFor(
      `${ready} of ${block}`,
      () => {
        if (this.#child.exitCode !== null) throw new Error(`it ended: ${this.text}`);
        return ready.test(this.text);
      },
      240_000,
    );
  }

  /** Ends the host and its processes, by default with SIGINT. */
  async end(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    const { pid } = this.#child;
    this.#child.stdin!.end();
    try {
      process.kill(-pid!, signal);
    } catch {
      // It has ended.
    }
    await waitFor('a shell to end', () => this.#child.exitCode !== null || this.#child.signalCode !== null);
    await waitFor('what it ran to end', () => {
      try {
        process.kill(-pid!, 0);
        return false;
      } catch {
        return true;
      }
    });
  }
}
