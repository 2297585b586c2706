/**
 * Limits lists of several pages. Few lists of an account are written at a time, so that each list that has begun gets
 * its next page: a response that has begun can only be finished or cut off. The others wait before their first byte,
 * for a bounded time.
 */

import { MemoryBudget } from '@slipway/kit/bytes/memory-budget';
import type { Clock } from '@slipway/kit/time/clock';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyReply } from 'fastify';
import { TooManyRequests } from '../plugins/errors/public-error.ts';

const AT_ONCE_MAX = 32;
/** Most lists of one account at a time: as many as core reads pages for. */
const OF_ACCOUNT_MAX = 2;
/** Longest wait for a turn, in milliseconds. Below the timeout of clients. */
const WAIT_MS_MAX = 20_000;
const RETRY_AFTER_SECONDS = 5;

/** Turn of one list. */
interface ListPermit {
  /** There was no wait. */
  isNow: boolean;
  /** Resolves when it begins, which lasts until the response has ended. TooManyRequests: not in time. */
  begun: Promise<void>;
}

export class ListQueue {
  readonly #permits = new MemoryBudget({ bytesMax: AT_ONCE_MAX, ownerBytesMax: OF_ACCOUNT_MAX });
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Requests a permit to read a list for an account. */
  enter(accountId: string, { raw }: Pick<FastifyReply, 'raw'>): ListPermit {
    const begun = Promise.withResolvers<void>();
    let isNow = false;
    const permit = this.#permits.acquire(accountId, 1, () => {
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
    // The permit is released with the response, even if the wait was in vain.
    const end = (): void => {
      timer?.cancel();
      permit.release();
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
