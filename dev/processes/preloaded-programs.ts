/**
 * Processes that load their code before their settings are known: core while PostgreSQL starts, the facade and the
 * agent while core starts. Only the first start of each is like this.
 */
import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { closeSync } from 'node:fs';
import { extname, join } from 'node:path';
import { CORE_ENVIRONMENT, NODE_ENVIRONMENT, NODE_FLAGS } from '@slipway/kit/host/node-settings';
import { ProcessLog } from './process-log.ts';

const ENDING = extname(import.meta.filename);

/** A part of the system that is a process. */
interface Part {
  /** Name of its log file. */
  name: string;
  /** Its program, relative to the root, without an ending. */
  file: string;
  /** Module with most of its code. */
  module: string;
}

/** All parts of `npm start`. */
export const PARTS: readonly Part[] = [
  { name: 'core', file: 'core/main', module: 'core/app' },
  { name: 'facade', file: 'facades/main', module: 'facades/app' },
  { name: 'agent', file: 'gpu-agent/main', module: 'gpu-agent/app' },
];

/** Settings of these processes. */
interface PreloadOptions {
  root: string;
  logDir: string;
  /** Folder in which Node keeps compiled code. */
  cacheDir: string;
  env: Readonly<Record<string, string | undefined>>;
}

export class PreloadedPrograms {
  readonly #children = new Map<string, ChildProcess>();

  /** Starts the processes. They end when this process ends. */
  constructor(parts: readonly Part[], { root, logDir, cacheDir, env }: PreloadOptions) {
    for (const { name, file, module } of parts) {
      const output = new ProcessLog(join(logDir, `${name}.log`)).open();
      const path = (part: string): string => join(root, `${part}${ENDING}`);
      const child = fork(join(import.meta.dirname, `preload${ENDING}`), [path(file), path(module)], {
        cwd: root,
        detached: true,
        execPath: process.execPath,
        execArgv: [...NODE_FLAGS],
        env: {
          ...NODE_ENVIRONMENT,
          ...(name === 'core' && CORE_ENVIRONMENT),
          NODE_COMPILE_CACHE: cacheDir,
          ...env,
        } as NodeJS.ProcessEnv,
        stdio: ['ignore', output, output, 'ipc'],
      });
      closeSync(output);
      // Without it the launcher starts the program anew, and says what is wrong.
      child.once('error', () => undefined);
      this.#children.set(file, child);
    }
  }

  /**
   * Lets the process of this program run with these settings, and returns it. A setting that is `undefined` is removed.
   * Returns `undefined` if there is no such process, or if it has ended.
   */
  run(file: string, env: Record<string, string | undefined>): ChildProcess | undefined {
    const child = this.#children.get(file);
    this.#children.delete(file);
    // The channel of an ended process may still be open, and its `exit` will not come again.
    if (!child?.connected || child.exitCode !== null || child.signalCode !== null) return undefined;
    // The channel leaves out what is undefined.
    const removed = Object.keys(env).filter((name) => env[name] === undefined);
    child.send({ env, removed });
    return child;
  }

  /** Ends the processes that have not run. */
  stop(): void {
    for (const child of this.#children.values()) child.kill('SIGKILL');
    this.#children.clear();
  }
}
