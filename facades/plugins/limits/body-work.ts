/** Runs work on request and response bodies: in slices if they are large, fairly by account. */
import { OverloadError } from '@slipway/kit/bytes/batcher';
import type { Work } from '@slipway/kit/bytes/sliced-work';
import { SlicedWork } from '@slipway/kit/bytes/sliced-work';
import type { Clock } from '@slipway/kit/time/clock';
import { TooManyRequests } from '../errors/public-error.ts';

export class BodyWork {
  readonly #work: SlicedWork;

  /**
   * `bytesMax`: most bytes that may wait; one account gets a quarter. The memory of the bodies is counted elsewhere.
   */
  constructor(bytesMax: number, clock: Clock) {
    this.#work = new SlicedWork({ name: 'bodies', bytesMax, ownerBytesMax: bytesMax / 4, clock });
  }

  /**
   * Runs work on a body of `bytes`. Small work runs at once. Throws the errors of the work, and RATE_LIMITED if too
   * much work of the account waits.
   */
  run<Result>(accountId: string, bytes: number, work: Work<Result>): Result | Promise<Result> {
    const result = this.#work.run(accountId, bytes, work);
    if (!(result instanceof Promise)) return result;
    return result.catch((error: unknown) => {
      throw error instanceof OverloadError
        ? new TooManyRequests('Too much is being sent at once; try again shortly.', 1)
        : error;
    });
  }
}
