/** The command line as its users have it: the real program in a process of its own. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { waitFor } from '../../helpers/wait-for.ts';

const SLIPWAY = join(import.meta.dirname, '../../../facades/cli/slipway.mjs');

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

  constructor(args: readonly string[], env: Record<string, string>, cwd: string, stdin?: string) {
    this.child = spawn(process.execPath, [SLIPWAY, ...args], { env, cwd, stdio: ['pipe', 'pipe', 'pipe'] });
    this.child.stdout!.on('data', (part: Buffer) => { this.stdout += part.toString(); });
    this.child.stderr!.on('data', (part: Buffer) => { this.stderr += part.toString(); });
    if (stdin !== undefined) this.child.stdin!.end(stdin);
    this.ended = new Promise((resolve) => {
      this.child.once('close', (code, signal) => resolve({ code: code ?? signal!, stdout: this.stdout, stderr: this.stderr }));
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

export type CommandLine = ReturnType<typeof commandLine>;

/** Runs `slipway` with these variables, in an empty folder, with nothing else of the test's environment that it would look at. */
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
  const env = { PATH: process.env.PATH!, HOME: process.env.HOME ?? cwd, ...variables };
  const start = (...args: string[]): Run => {
    const run = new Run(args, env, cwd);
    runs.push(run);
    return run;
  };
  const run = (...args: string[]): Promise<Ended> => start(...args).ended;
  return {
    cwd,
    start,
    run,
    /** Runs with a text on stdin. */
    runWith: (stdin: string, ...args: string[]): Promise<Ended> => new Run(args, env, cwd, stdin).ended,
    /** Runs with --json and answers the document; a failure fails the test. */
    json: async <Document>(...args: string[]): Promise<Document> => {
      const { code, stdout, stderr } = await run('--json', ...args);
      if (code !== 0) throw new Error(`slipway ${args.join(' ')} ended with ${code}: ${stderr}`);
      return JSON.parse(stdout) as Document;
    },
  };
}
