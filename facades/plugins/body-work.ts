/** Work on what clients send and workers answer, in slices where it is large, fairly by account. */
import { OverloadError } from '../../core/runtime/batcher.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { SlicedWork } from '../../core/runtime/sliced-work.ts';
import type { Work } from '../../core/runtime/sliced-work.ts';
import { TooManyRequests } from './public-error.ts';

export class BodyWork {
  readonly #work: SlicedWork;

  /** `bytesMax`: of what may wait, a quarter of it for one account. Bodies and answers have room in memory before they come here. */
  constructor(bytesMax: number, clock: Clock) {
    this.#work = new SlicedWork({ name: 'bodies', bytesMax, ownerBytesMax: bytesMax / 4, clock });
  }

  /** Does work on so many bytes: small work at once. Throws what the work throws, and RATE_LIMITED when too much of the account waits already. */
  run<Result>(accountId: string, bytes: number, work: Work<Result>): Result | Promise<Result> {
    const result = this.#work.run(accountId, bytes, work);
    if (!(result instanceof Promise)) return result;
    return result.catch((error: unknown) => {
      throw error instanceof OverloadError ? new TooManyRequests('Too much is being sent at once; try again shortly.', 1) : error;
    });
  }
}
