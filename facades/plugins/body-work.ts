/** Runs work on request and response bodies: in slices if they are large, fairly by account. */
import { OverloadError } from '../../core/runtime/batcher.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Work } from '../../core/runtime/sliced-work.ts';
import { SlicedWork } from '../../core/runtime/sliced-work.ts';
import { TooManyRequests } from './public-error.ts';

export class BodyWork {
  readonly #work: SlicedWork;

  /**
   * `bytesMax`: most bytes that may wait; one account gets a quarter. The memory of the bodies is counted elsewhere.
   */
  constructor(bytesMax: number, clock: Clock) {
    this.#work = new SlicedWork({ name: 'bodies', bytesMax, ownerBytesMax: bytesMax / 4, clock });
  }

  /**
   * Runs work on a body of `bytes`. Small work runs at once. Throws what the work throws, and RATE_LIMITED if too
   * much of the account waits.
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
