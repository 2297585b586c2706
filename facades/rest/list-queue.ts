/**
 * Turns of lists that come in several pages. Few of an account are written at a time, so that each that has begun gets
 * its next page: an answer that has begun can only be finished or cut. The others wait before their first byte, for a
 * bounded time.
 */

import { MemoryBudget } from '@slipway/kit/bytes/memory-budget';
import type { Clock } from '@slipway/kit/time/clock';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyReply } from 'fastify';
import { TooManyRequests } from '../plugins/errors/public-error.ts';

const AT_ONCE_MAX = 32;
/** As many as core reads pages for at a time. */
const OF_ACCOUNT_MAX = 2;
/** Longest wait for a turn, in milliseconds: below the time that clients wait for an answer. */
const WAIT_MS_MAX = 20_000;
const RETRY_AFTER_SECONDS = 5;

/** The turn of one list. */
export interface ListPermit {
  /** There was no wait. */
  isNow: boolean;
  /** Resolves when it begins, which lasts until the response has ended. TooManyRequests: not in time. */
  begun: Promise<void>;
}

export class ListQueue {
  readonly #turns = new MemoryBudget({ bytesMax: AT_ONCE_MAX, ownerBytesMax: OF_ACCOUNT_MAX });
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Asks for a turn of an account. */
  enter(accountId: string, { raw }: Pick<FastifyReply, 'raw'>): ListPermit {
    const begun = Promise.withResolvers<void>();
    let isNow = false;
    const place = this.#turns.acquire(accountId, 1, () => {
      isNow = true;
      begun.resolve();
    });
    const timer = isNow
      ? undefined
      : this.#clock.after(WAIT_MS_MAX, () => {
          begun.reject(
            new TooManyRequests(
              'Too many long lists of the account are being read; read them one after the other.',
              RETRY_AFTER_SECONDS,
            ),
          );
        });
    // The place is given back with the response also where the wait was in vain.
    const end = (): void => {
      timer?.cancel();
      place.release();
      begun.reject(new CoreError('UNAVAILABLE', 'The client has gone.'));
    };
    if (raw.closed) end();
    else raw.once('close', end);
    void begun.promise.then(
      () => timer?.cancel(),
      () => undefined,
    );
    return { isNow, begun: begun.promise };
  }
}
