/**
 * The agent's key. A key in a file is read again while the agent runs: when another one is there, the next session uses
 * it. Attempts continue.
 */
import { readFileSync } from 'node:fs';
import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';

/** Period of reading the file, in milliseconds. */
const PERIOD_MS = 10_000;

interface AgentKeyOptions {
  /** The key as it was read at start. Empty: the agent proves itself by a certificate. */
  key: string;
  /** File that holds the key. Empty: it was given in another way, and stays. */
  keyFile: string;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Called when the file has another key. */
  onReplaced(): void;
}

export class AgentKey extends LoopService {
  readonly #options: AgentKeyOptions;
  #key: string;

  constructor(options: AgentKeyOptions) {
    super({ ...options, name: 'agent key', periodMs: PERIOD_MS });
    this.#options = options;
    this.#key = options.key;
  }

  /** The key to use from now on. */
  get current(): string {
    return this.#key;
  }

  protected override async pass(): Promise<void> {
    this.reread();
  }

  /** Reads the file. One that is empty or cannot be read, because it is being written, changes nothing. */
  reread(): void {
    const { keyFile, logger, onReplaced } = this.#options;
    if (keyFile === '' || this.#key === '') return;
    const key = read(keyFile);
    if (key === '' || key === this.#key) return;
    this.#key = key;
    logger.info({ file: keyFile }, 'the agent key was replaced in its file');
    onReplaced();
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  } catch {
    return '';
  }
}
