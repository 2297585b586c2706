/**
 * Records attempts that were refused in the audit trail. A flood cannot fill it: repeats are counted, and in each
 * window only a few different attempts of a caller, and of all callers, get rows of their own. A replica that is killed
 * loses what it has counted and not written.
 */

import { BaseService } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Timer } from '@slipway/kit/time/clock';
import type { RefusedAttempt } from '../store/accounts/audit-store.ts';
import type { Stores } from '../store/storage.ts';

/** Time for which repeats are counted before their row is written, in milliseconds. */
export const REFUSALS_WINDOW_MS = 600_000;
/** Most different attempts with rows of their own in a window, of all callers and of one. */
export const REFUSALS_MAX = 50;
export const CALLER_REFUSALS_MAX = 5;
/** Action of the rows that stand for all other attempts. */
const SEVERAL = 'several';

/** An attempt, and its repeats that no row stands for yet. */
interface CountedAttempt {
  attempt: RefusedAttempt;
  repeats: number;
}

interface RefusedAttemptsOptions {
  audit: Pick<Stores['audit'], 'recordRefused'>;
  clock: Clock;
  logger: Logger;
}

export class RefusedAttempts extends BaseService {
  readonly name = 'refused attempts';
  readonly #options: RefusedAttemptsOptions;
  readonly #counted = new Map<string, CountedAttempt>();
  /** Number of attempts with a row of their own in this window, by caller. */
  readonly #ofCaller = new Map<string, number>();
  #rows = 0;
  #timer: Timer | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: RefusedAttemptsOptions) {
    super();
    this.#options = options;
  }

  protected override onStart(): void {}

  /** Writes what was counted. */
  protected override async onStop(): Promise<void> {
    this.#endWindow();
    await this.#writing;
  }

  /** Records an attempt. The first of its kind in a window is written at once, its repeats at the window's end. */
  record(attempt: RefusedAttempt): void {
    this.#timer ??= this.#options.clock.after(REFUSALS_WINDOW_MS, () => this.#endWindow());
    const caller = attempt.keyId || attempt.address;
    const name = JSON.stringify([caller, attempt.action, attempt.refused]);
    const known = this.#counted.get(name);
    if (known) {
      known.repeats += 1;
      return;
    }
    const ofCaller = this.#ofCaller.get(caller) ?? 0;
    if (this.#rows >= REFUSALS_MAX) return this.#addTo('', { ...NOBODY, action: SEVERAL });
    if (ofCaller >= CALLER_REFUSALS_MAX)
      return this.#addTo(caller, { ...attempt, action: SEVERAL, subjectId: '', refused: SEVERAL, detail: '' });
    this.#rows += 1;
    this.#ofCaller.set(caller, ofCaller + 1);
    this.#counted.set(name, { attempt, repeats: 0 });
    this.#write([attempt]);
  }

  #addTo(name: string, attempt: RefusedAttempt): void {
    const counted = this.#counted.get(name);
    if (counted) counted.repeats += 1;
    else this.#counted.set(name, { attempt, repeats: 1 });
  }

  #endWindow(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const repeated = [...this.#counted.values()].filter(({ repeats }) => repeats > 0);
    this.#counted.clear();
    this.#ofCaller.clear();
    this.#rows = 0;
    if (repeated.length > 0) this.#write(repeated.map(({ attempt, repeats }) => ({ ...attempt, attempts: repeats })));
  }

  #write(attempts: readonly RefusedAttempt[]): void {
    const { audit, logger } = this.#options;
    this.#writing = this.#writing
      .then(() => audit.recordRefused(attempts))
      .catch((error: unknown) => logger.warn({ err: error }, 'rejections were not added to the audit trail'));
  }
}

/** Stands for all callers beyond the limit. */
const NOBODY: RefusedAttempt = {
  ...{ accountId: '', keyId: '', address: '', via: '', subjectId: '' },
  ...{ refused: SEVERAL, detail: '', attempts: 1 },
  action: '',
};
