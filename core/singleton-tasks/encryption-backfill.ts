/**
 * Completes the rows of earlier releases in the background: encrypts what was left as plaintext, and records which
 * secrets environments mention.
 */

import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { Stores } from '../store/storage.ts';

interface EncryptionBackfillOptions {
  stores: Pick<Stores, 'encryptionBackfill'>;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Pause after a failure, in milliseconds. */
const PERIOD_MS = 5_000;

export class EncryptionBackfill extends LoopService {
  readonly #options: EncryptionBackfillOptions;
  #done = false;

  constructor(options: EncryptionBackfillOptions) {
    super({ ...options, name: 'encryption backfill', periodMs: PERIOD_MS });
    this.#options = options;
  }

  protected override async pass(): Promise<void> {
    if (this.#done) return;
    const { stores, logger } = this.#options;
    const rows = await stores.encryptionBackfill.seal(this.ending);
    await stores.encryptionBackfill.nameSecrets(this.ending);
    this.#done = true;
    if (rows > 0) logger.info({ rows }, 'plaintext of an earlier release encrypted');
  }
}
