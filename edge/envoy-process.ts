/**
 * One Envoy process. Starts it, also as the successor of a running one, converts its log into ours, drains it and waits
 * for its end.
 */

import type { ChildProcess } from 'node:child_process';
import { execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Logger } from '@slipway/kit/log/logger';
import { listenFault } from '@slipway/kit/net/listen-fault';
import type { Clock } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import { activeRequests, askAdmin } from './admin.ts';
import type { EdgeConfig } from './config.ts';
import { adminSocket } from './config.ts';
import { EdgeFault } from './edge-fault.ts';
import type { RunningEnvoy } from './edge-files.ts';
import { REQUEST_SILENCE_MS } from './envoy-config/limits.ts';

/** Dependencies of the process. */
interface EnvoyDeps {
  clock: Clock;
  logger: Logger;
}

/** Period of a drain in which Envoy asks its connections to close, in seconds. */
const DRAIN_SECONDS = 5;
/** Time after which a relieved Envoy ends, in seconds. No request waits longer, and streams reconnect. */
const RELIEVED_SECONDS = REQUEST_SILENCE_MS / 1_000 + DRAIN_SECONDS;
const POLL_MS = 50;
/** Longest time for an Envoy to become ready, in milliseconds. */
const READY_MS_MAX = 30_000;
/** Format of Envoy's log lines. `|` separates their parts. */
const LOG_FORMAT = '%l|%n|%v';
const LOG_LINE = /^(trace|debug|info|warning|error|critical|off)\|([^|]*)\|(.*)$/;
/** Envoy's message about an address that it cannot use, and the error codes of the system's texts in it. */
const BIND_FAULT = /cannot bind '([^']+)': (Address already in use|Cannot assign requested address|Permission denied)/;
const BIND_CODES: Record<string, string> = {
  'Address already in use': 'EADDRINUSE',
  'Cannot assign requested address': 'EADDRNOTAVAIL',
  'Permission denied': 'EACCES',
};
/** Envoy's log levels by our names for them. */
const LEVELS: Record<string, string> = {
  trace: 'trace',
  debug: 'debug',
  info: 'warning',
  warn: 'warning',
  error: 'error',
  silent: 'off',
};

/** Lets Envoy validate a configuration. Returns what is wrong with it; `undefined` if nothing is. */
export function findFault(envoy: string, file: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(
      envoy,
      ['--mode', 'validate', '-c', file, '-l', 'error', '--log-format', '%v'],
      (error, stdout, stderr) => {
        resolve(error ? (stderr || stdout || error.message).trim() : undefined);
      },
    );
  });
}

export class EnvoyProcess {
  readonly #config: EdgeConfig;
  readonly #deps: EnvoyDeps;
  readonly #child: ChildProcess;
  readonly #epoch: number;
  readonly #relieved: RunningEnvoy | undefined;
  #bindFault: string | undefined;
  /** Resolves with how the process ended. */
  readonly ended: Promise<string>;

  /** Starts Envoy. `relieved`: the Envoy that it takes over from, which drains and ends when this one is ready. */
  constructor(
    envoy: string,
    file: string,
    { config, relieved, ...deps }: EnvoyDeps & { config: EdgeConfig; relieved: RunningEnvoy | undefined },
  ) {
    this.#config = config;
    this.#deps = deps;
    this.#relieved = relieved;
    this.#epoch = relieved ? relieved.epoch + 1 : 0;
    const row = relieved
      ? ['--base-id', String(relieved.baseId), '--restart-epoch', String(this.#epoch)]
      : ['--use-dynamic-base-id', '--base-id-path', join(config.dataDir, 'base-id')];
    this.#child = spawn(
      envoy,
      [
        '-c',
        file,
        ...row,
        '-l',
        LEVELS[config.logLevel]!,
        '--log-format',
        LOG_FORMAT,
        '--drain-time-s',
        String(DRAIN_SECONDS),
        '--drain-strategy',
        'immediate',
        '--parent-shutdown-time-s',
        String(RELIEVED_SECONDS),
        ...(config.threads === 0 ? [] : ['--concurrency', String(config.threads)]),
      ],
      // A separate process group: a Ctrl-C of the terminal would end Envoy before its requests end.
      { stdio: ['ignore', 'inherit', 'pipe'], detached: true },
    );
    createInterface({ input: this.#child.stderr! }).on('line', (line) => this.#log(line));
    this.ended = new Promise((resolve) => {
      this.#child.once('error', (error) => resolve(error.message));
      this.#child.once('exit', (code, signal) => resolve(signal ?? `code ${code}`));
    });
  }

  /** Path of its admin socket. */
  get admin(): string {
    return adminSocket(this.#config.dataDir, this.#epoch);
  }

  /** Resolves when Envoy serves. Rejects if it ends before, with EdgeFault if the operator can fix the reason. */
  async ready(): Promise<RunningEnvoy> {
    const { clock } = this.#deps;
    let over: string | undefined;
    void this.ended.then((how) => {
      over = how;
    });
    const endMs = clock.monotonicMs() + READY_MS_MAX;
    for (;;) {
      if (over !== undefined && this.#bindFault) throw new EdgeFault(this.#bindFault);
      if (over !== undefined) throw new Error(`Envoy ended with ${over} before it served; its last lines say why`);
      if ((await askAdmin(this.admin, '/ready')).status === 200) break;
      if (clock.monotonicMs() > endMs) throw new Error(`Envoy was not ready after ${READY_MS_MAX / 1_000} s`);
      await delay(clock, POLL_MS);
    }
    const baseId = this.#relieved?.baseId ?? Number(readFileSync(join(this.#config.dataDir, 'base-id'), 'utf8'));
    return { pid: this.#child.pid!, baseId, epoch: this.#epoch };
  }

  /** Waits a bounded time for requests to end, then ends Envoy. `atOnce` ends the wait. */
  async drain(atOnce: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const endMs = clock.monotonicMs() + this.#config.drainMs;
    await askAdmin(this.admin, '/healthcheck/fail', 'POST');
    await askAdmin(this.admin, '/drain_listeners?graceful', 'POST');
    while (clock.monotonicMs() < endMs && !atOnce.aborted && (await activeRequests(this.admin)) > 0)
      await delay(clock, POLL_MS, atOnce);
    await this.end();
  }

  /** Ends Envoy now. */
  async end(): Promise<void> {
    this.#child.kill('SIGTERM');
    await this.ended;
  }

  #log(line: string): void {
    const [, level, part, text] = LOG_LINE.exec(line) ?? [];
    const [, address = '', cause] = BIND_FAULT.exec(line) ?? [];
    if (cause !== undefined) this.#bindFault = `Envoy ${listenFault(new Error(BIND_CODES[cause]), address).message}`;
    const fields = { part: part ?? 'envoy', text: text ?? line };
    const { logger } = this.#deps;
    if (level === 'critical' || level === 'error' || level === undefined) logger.error(fields, 'Envoy log');
    // A known warning that is repeated at each start. Each new release of Envoy is tested with the features that are
    // used here.
    else if (level === 'warning' && !line.includes('marked as work-in-progress')) logger.warn(fields, 'Envoy log');
    else logger.debug(fields, 'Envoy log');
  }
}
