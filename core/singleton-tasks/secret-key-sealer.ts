/**
 * Seals all rows with the new secret key while the key is exchanged. Once nothing needs the previous key and every
 * replica has sealed with the new one for a while, the previous key is forgotten.
 */
import type { SingletonTask } from '@slipway/kit/lifecycle/loop';
import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { Stores } from '../store/storage.ts';

interface SecretKeyOptions {
  stores: Pick<Stores, 'secretKeys'>;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** A replica seals with the new key within this time, in milliseconds. */
const PERIOD_MS = 5_000;

/** Learns from the database which of two keys seals. Every replica with two keys runs it. */
export class SecretKeyWatcher extends LoopService {
  readonly #options: SecretKeyOptions;

  constructor(options: SecretKeyOptions) {
    super({ ...options, name: 'secret key watcher', periodMs: PERIOD_MS });
    this.#options = options;
  }

  protected override async pass(): Promise<void> {
    await this.#options.stores.secretKeys.read();
  }
}

/** Seals the rows. One replica at a time runs it. */
export class SecretKeySealer extends LoopService {
  readonly #options: SecretKeyOptions;

  constructor(options: SecretKeyOptions & { task?: SingletonTask }) {
    super({ ...options, name: 'secret key sealer', periodMs: PERIOD_MS });
    this.#options = options;
  }

  protected override async pass(): Promise<void> {
    await this.runOnce();
  }

  /** Seals all rows that need it. Returns true once the previous key is needed no more. */
  async runOnce(): Promise<boolean> {
    const { stores, logger } = this.#options;
    const { previous, isSettled } = await stores.secretKeys.read();
    if (!previous) return true;
    const { sealed, damaged } = await stores.secretKeys.sealAnew(this.ending);
    if (sealed > 0) logger.info({ rows: sealed }, 'rows sealed with the new secret key');
    if (sealed > 0 || !isSettled || this.ending.aborted) return false;
    await stores.secretKeys.forgetPrevious();
    logger.info({ damaged }, 'the previous secret key is needed no more');
    return true;
  }
}
