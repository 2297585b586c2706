/** The context that every command works with: configuration, output, target and calls of core. */

import type { Transport } from '@slipway/kit/net/channel';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { CliConfig } from './config.ts';
import { UsageError } from './failures.ts';
import { KeyedCore } from './keyed-core.ts';
import type { Output } from './output/output.ts';
import type { Target, TargetKey, TargetOptions } from './target.ts';
import { chooseTarget } from './target.ts';

/** Options that every command has. */
export type GlobalOptions = TargetOptions & { json?: boolean; wide?: boolean };

/** Stream of the user's input. */
export type StdinStream = AsyncIterable<Buffer> & { isTTY?: boolean; setRawMode?(isRaw: boolean): unknown };

/** Dependencies of the command line. */
interface CliParts {
  config: CliConfig;
  output: Output;
  transport: Transport;
  clock: Clock;
  random: Random;
  /** Aborts with an InterruptedError when a signal arrives. */
  stopping: AbortSignal;
  stdin: StdinStream;
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
  readonly stdin: StdinStream;
  readonly replacesProcess: boolean;
  /** Exit code of a command that threw no error. */
  exitCode = 0;
  /**
   * Whether the command is to reach its end although nobody reads its output any more, because it has changed
   * something, or is about to. Default: false, so that `head` ends a list.
   */
  mustFinish = false;
  #options: TargetOptions = {};
  #target: Target | undefined;
  #isAnnounced = false;
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
  setOptions({ json = false, wide = false, ...options }: GlobalOptions): void {
    this.output.json = json;
    this.output.wide = wide;
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

  /** Connects with a key that is no part of the target. The caller closes the connection. */
  connectWith(apiKey: string, keySource: string): KeyedCore {
    const { transport, clock, random, stopping } = this;
    const { address, tls } = this.target;
    const onChange = (): void => this.#begin();
    return new KeyedCore({ address, tls, apiKey, keySource, transport, clock, random, stopping, onChange });
  }

  /** Closes open connections. */
  close(): void {
    this.#core?.close();
    this.#operator?.close();
  }

  #connect({ key, source, hint }: TargetKey): KeyedCore {
    if (key === undefined) throw new UsageError(hint);
    return this.connectWith(key, source);
  }

  /** Begins a change. Says where it goes, unless the user named the place or works beside `npm start`. */
  #begin(): void {
    this.mustFinish = true;
    const { context, isUsual, address } = this.target;
    if (isUsual && !this.#isAnnounced) this.output.note(`Context ${context} (${address})`);
    this.#isAnnounced = true;
  }
}
