/**
 * Runs the command line for tests: in this process if only its output matters, or as the real program in its own
 * process.
 */

import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { readCliConfig } from '@slipway/cli/config';
import { runCommand } from '@slipway/cli/main';
import type { Test } from 'tap';
import { waitFor } from '../helpers/time/wait-for.ts';

const SLIPWAY = join(import.meta.dirname, '../../cli/slipway');

/** How a run ended. */
export interface Ended {
  /** Exit code, or the signal that ended it. */
  code: number | NodeJS.Signals;
  stdout: string;
  stderr: string;
}

/** One run. */
export class Run {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  stdout = '';
  stderr = '';

  constructor(args: readonly string[], env: Record<string, string>, cwd: string) {
    this.child = spawn(SLIPWAY, args, { env, cwd, stdio: ['pipe', 'pipe', 'pipe'] });
    this.child.stdout!.on('data', (part: Buffer) => {
      this.stdout += part.toString();
    });
    this.child.stderr!.on('data', (part: Buffer) => {
      this.stderr += part.toString();
    });
    this.ended = new Promise((resolve) => {
      this.child.once('close', (code, signal) =>
        resolve({ code: code ?? signal!, stdout: this.stdout, stderr: this.stderr }),
      );
    });
  }

  /** Waits until it has written this. */
  wrote(stream: 'stdout' | 'stderr', pattern: RegExp): Promise<RegExpExecArray> {
    return waitFor(`${pattern} on ${stream}`, () => {
      const found = pattern.exec(this[stream]);
      if (!found && this.child.exitCode !== null) throw new Error(`it ended: ${this.stdout}${this.stderr}`);
      return found;
    });
  }
}

/** Collects the output of a command in this process. */
function sink() {
  let text = '';
  const stream = new Writable({
    write(part, _encoding, done) {
      text += String(part);
      done();
    },
  });
  return { stream, text: () => text };
}

/** Runs a command in this process, which costs a tenth of a process of its own. */
async function runHere(args: readonly string[], env: Record<string, string>, cwd: string, stdin = ''): Promise<Ended> {
  const [stdout, stderr] = [sink(), sink()];
  const code = await runCommand(args, {
    config: () => readCliConfig(env, cwd),
    stdout: stdout.stream,
    stderr: stderr.stream,
    stopping: new AbortController().signal,
    stdin: (async function* () {
      yield Buffer.from(stdin);
    })(),
  });
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

export type CommandLine = ReturnType<typeof commandLine>;

/**
 * Returns a runner of `slipway` with these variables and an empty folder. Nothing else of the test's environment
 * affects it.
 */
export function commandLine(t: Test, variables: Record<string, string>) {
  const cwd = mkdtempSync(join(tmpdir(), 'slipway-cli-'));
  const runs: Run[] = [];
  t.teardown(async () => {
    for (const { child, ended } of runs) {
      child.kill('SIGKILL');
      await ended;
    }
    rmSync(cwd, { recursive: true, force: true });
  });
  const env = { PATH: process.env.PATH!, HOME: process.env.HOME ?? cwd, XDG_CONFIG_HOME: cwd, ...variables };
  const start = (...args: string[]): Run => {
    const run = new Run(args, env, cwd);
    runs.push(run);
    return run;
  };
  const run = (...args: string[]): Promise<Ended> => runHere(args, env, cwd);
  return {
    cwd,
    /** Runs in a process of its own, which signals can reach and whose output can be read while it runs. */
    start,
    /** Runs in this process. */
    run,
    /** Runs in this process with a text on stdin. */
    runWith: (stdin: string, ...args: string[]): Promise<Ended> => runHere(args, env, cwd, stdin),
    /** Runs in this process with --json and answers the document; a failure fails the test. */
    json: async <Document>(...args: string[]): Promise<Document> => {
      const { code, stdout, stderr } = await run('--json', ...args);
      if (code !== 0) throw new Error(`slipway ${args.join(' ')} ended with ${code}: ${stderr}`);
      return JSON.parse(stdout) as Document;
    },
  };
}
