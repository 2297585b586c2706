/** What every command works with. */

import type { Transport } from '@slipway/kit/net/channel';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { CliConfig } from './config.ts';
import { UsageError } from './failures.ts';
import { KeyedCore } from './keyed-core.ts';
import type { Output } from './output/output.ts';
import type { Target, TargetKey, TargetOptions } from './target.ts';
import { chooseTarget } from './target.ts';

/** Parts handed to the command line. */
export interface CliParts {
  config: CliConfig;
  output: Output;
  transport: Transport;
  clock: Clock;
  random: Random;
  /** Aborts with an InterruptedError when a signal arrives. */
  stopping: AbortSignal;
  stdin: AsyncIterable<Buffer>;
}

/** Everything is opened when it is first asked for. */
export class Cli {
  readonly config: CliConfig;
  readonly output: Output;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly stopping: AbortSignal;
  readonly stdin: AsyncIterable<Buffer>;
  /** Exit code of a command that did what it was told. */
  exitCode = 0;
  #options: TargetOptions = {};
  #target: Target | undefined;
  #core: KeyedCore | undefined;
  #operator: KeyedCore | undefined;

  constructor({ config, output, transport, clock, random, stopping, stdin }: CliParts) {
    this.config = config;
    this.output = output;
    this.transport = transport;
    this.clock = clock;
    this.random = random;
    this.stopping = stopping;
    this.stdin = stdin;
  }

  /** Takes over the options that every command has. */
  setOptions({ json = false, ...options }: TargetOptions & { json?: boolean }): void {
    this.output.json = json;
    this.#options = options;
  }

  /** Where the command goes; throws UsageError. */
  get target(): Target {
    this.#target ??= chooseTarget(this.config, this.#options);
    return this.#target;
  }

  /** Options of the target as they were given. */
  get targetOptions(): Readonly<TargetOptions> {
    return this.#options;
  }

  /** Calls of core with the user's key; throws UsageError without one. */
  get core(): KeyedCore {
    this.#core ??= this.#connect(this.target.user);
    return this.#core;
  }

  /** Calls of core with the operator's key, for what belongs to the installation; throws UsageError without one. */
  get operator(): KeyedCore {
    this.#operator ??= this.#connect(this.target.operator);
    return this.#operator;
  }

  /** Closes what was opened. */
  close(): void {
    this.#core?.close();
    this.#operator?.close();
  }

  #connect({ key, source, hint }: TargetKey): KeyedCore {
    if (key === undefined) throw new UsageError(hint);
    const { address, tls } = this.target;
    const { transport, clock, random, stopping } = this;
    return new KeyedCore({ address, tls, apiKey: key, keySource: source, transport, clock, random, stopping });
  }
}
