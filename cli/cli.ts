/** The context that every command works with: configuration, output, target and calls of core. */

import type { Transport } from '@slipway/kit/net/channel';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { CliConfig } from './config.ts';
import { UsageError } from './failures.ts';
import { KeyedCore } from './keyed-core.ts';
import type { Output } from './output/output.ts';
import type { Target, TargetKey, TargetOptions } from './target.ts';
import { chooseTarget } from './target.ts';

/** Dependencies of the command line. */
interface CliParts {
  config: CliConfig;
  output: Output;
  transport: Transport;
  clock: Clock;
  random: Random;
  /** Aborts with an InterruptedError when a signal arrives. */
  stopping: AbortSignal;
  stdin: AsyncIterable<Buffer>;
  /** A part that the command runs takes the place of this process. Otherwise it is a child. */
  replacesProcess: boolean;
}

/** The context of a command. Connections are opened on first use. */
export class Cli {
  readonly config: CliConfig;
  readonly output: Output;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly stopping: AbortSignal;
  readonly stdin: AsyncIterable<Buffer>;
  readonly replacesProcess: boolean;
  /** Exit code of a command that threw no error. */
  exitCode = 0;
  #options: TargetOptions = {};
  #target: Target | undefined;
  #core: KeyedCore | undefined;
  #operator: KeyedCore | undefined;

  constructor({ config, output, transport, clock, random, stopping, stdin, replacesProcess }: CliParts) {
    this.config = config;
    this.output = output;
    this.transport = transport;
    this.clock = clock;
    this.random = random;
    this.stopping = stopping;
    this.stdin = stdin;
    this.replacesProcess = replacesProcess;
  }

  /** Sets the options that every command has. */
  setOptions({ json = false, ...options }: TargetOptions & { json?: boolean }): void {
    this.output.json = json;
    this.#options = options;
  }

  /** Target of the command. Throws UsageError. */
  get target(): Target {
    this.#target ??= chooseTarget(this.config, this.#options);
    return this.#target;
  }

  /** Options of the target as the user gave them. */
  get targetOptions(): Readonly<TargetOptions> {
    return this.#options;
  }

  /** Calls of core with the user's key. Throws UsageError if there is no key. */
  get core(): KeyedCore {
    this.#core ??= this.#connect(this.target.user);
    return this.#core;
  }

  /** Calls of core with the operator's key, for resources of the installation. Throws UsageError if there is no key. */
  get operator(): KeyedCore {
    this.#operator ??= this.#connect(this.target.operator);
    return this.#operator;
  }

  /** Closes open connections. */
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
