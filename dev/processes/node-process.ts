/**
 * Plan of a process of ours: a TypeScript file run by the pinned Node, which says over its IPC channel when it is
 * ready.
 */
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { NODE_ENVIRONMENT, NODE_FLAGS } from '@slipway/kit/host/node-settings';
import { ProcessLog } from './process-log.ts';
import type { ProcessPlan } from './supervised-process.ts';

/** What core, the facade and the edge send when they are ready. */
export interface ReadyMessage {
  ready: true;
  /** gRPC address of core. */
  address?: string;
  /** HTTP address of the facade. */
  url?: string;
  /** host:port of the edge's listeners by name. */
  addresses?: Record<string, string>;
}

/** What to run. */
export interface NodeProcessOptions {
  /** For the user and for the log file's name. */
  name: string;
  root: string;
  /** Path from the project's root. */
  file: string;
  /** Its arguments. Default none. */
  args?: readonly string[];
  logDir: string;
  /** Where Node keeps compiled code between runs; absent: nowhere. */
  cacheDir?: string;
  /** All of its environment, asked for anew at every start. */
  env(): Record<string, string | undefined>;
}

/** First starts migrate the database and compile nothing; a slow disk may still need a while. */
const READY_MS_MAX = 60_000;

export function nodeProcess(options: NodeProcessOptions): ProcessPlan<ReadyMessage> {
  return {
    name: options.name,
    log: new ProcessLog(join(options.logDir, `${options.name}.log`)),
    readyMsMax: READY_MS_MAX,
    spawn: (output) =>
      fork(join(options.root, options.file), options.args ?? [], {
        cwd: options.root,
        detached: true,
        execPath: process.execPath,
        execArgv: [...NODE_FLAGS],
        env: {
          ...NODE_ENVIRONMENT,
          ...(options.cacheDir === undefined ? {} : { NODE_COMPILE_CACHE: options.cacheDir }),
          ...options.env(),
        } as NodeJS.ProcessEnv,
        stdio: ['ignore', output, output, 'ipc'],
      }),
    whenReady: (child) =>
      new Promise((resolve) => {
        child.on('message', (message: Partial<ReadyMessage> | null) => {
          if (message?.ready === true) resolve(message as ReadyMessage);
        });
      }),
  };
}
