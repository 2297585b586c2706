/**
 * Plan of one of our own processes: a TypeScript file run by the pinned Node. It reports over its IPC channel when it
 * is ready.
 */
import { fork } from 'node:child_process';
import { extname, join } from 'node:path';
import { NODE_ENVIRONMENT, NODE_FLAGS } from '@slipway/kit/host/node-settings';
import type { PreloadedPrograms } from './preloaded-programs.ts';
import { ProcessLog } from './process-log.ts';
import type { ProcessPlan } from './supervised-process.ts';

/** Message that core, the facade and the edge send when they are ready. */
export interface ReadyMessage {
  ready: true;
  /** gRPC address of core. */
  address?: string;
  /** HTTP address of the facade. */
  url?: string;
  /** Addresses of the edge's listeners by name, as host:port. */
  addresses?: Record<string, string>;
  /** Address of its metrics, as host:port. Empty or absent: it serves none. */
  metrics?: string;
}

/** Settings of a process of ours. */
export interface NodeProcessOptions {
  /** Name for the user and for the log file. */
  name: string;
  root: string;
  /** Path relative to the root. Without an ending: a module of ours, `.ts`, or `.js` in published packages. */
  file: string;
  /** Command that runs Node where the process belongs, such as in a network namespace. Default: none. */
  inside?: readonly string[] | undefined;
  /** Arguments of the program. Default: none. */
  args?: readonly string[];
  logDir: string;
  /** Folder in which Node keeps compiled code between runs. Absent: compiled code is not kept. */
  cacheDir?: string;
  /** Processes that have loaded their code. Default: none. */
  preloaded?: PreloadedPrograms | undefined;
  /** Called when core reports activity. Default: not called. */
  onActivity?: (() => void) | undefined;
  /** Returns the whole environment of the process. Called at every start. */
  env(): Record<string, string | undefined>;
}

/**
 * Longest time until a process is ready, in milliseconds. The first start migrates the database and has no compiled
 * code yet, and a slow disk may need a while.
 */
const READY_MS_MAX = 60_000;

export function nodeProcess(options: NodeProcessOptions): ProcessPlan<ReadyMessage> {
  const [execPath, ...execArgv] = [...(options.inside ?? []), process.execPath, ...NODE_FLAGS];
  return {
    name: options.name,
    log: new ProcessLog(join(options.logDir, `${options.name}.log`)),
    readyMsMax: READY_MS_MAX,
    spawn: (output) =>
      options.preloaded?.run(options.file, options.env()) ??
      fork(programFile(options), options.args ?? [], {
        cwd: options.root,
        detached: true,
        execPath: execPath!,
        execArgv,
        env: {
          ...NODE_ENVIRONMENT,
          ...(options.cacheDir === undefined ? {} : { NODE_COMPILE_CACHE: options.cacheDir }),
          ...options.env(),
        } as NodeJS.ProcessEnv,
        stdio: ['ignore', output, output, 'ipc'],
      }),
    whenReady: (child) =>
      new Promise((resolve) => {
        child.on('message', (message: Partial<ReadyMessage & { active: true }> | null) => {
          if (message?.ready === true) resolve(message as ReadyMessage);
          else if (message?.active === true) options.onActivity?.();
        });
      }),
  };
}

function programFile({ root, file }: NodeProcessOptions): string {
  return join(root, extname(file) === '' ? `${file}${extname(import.meta.filename)}` : file);
}
