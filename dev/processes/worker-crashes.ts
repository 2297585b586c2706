/** Reports workers that crashed: the whole reason once, then how often it has happened again. */
import { boundedCache } from '@slipway/kit/bytes/bounded-cache';
import type { EndedWorkers, Worker } from '@slipway/proto/gen/slipway/v1/machine';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { plain, Repeats } from '../repeats.ts';

const SEEN_MAX = 1_000;

export class WorkerCrashes {
  readonly #seen = boundedCache<string, true>(SEEN_MAX);
  readonly #repeats = new Repeats();
  readonly #output: { problem(text: string): void; step(text: string): void };
  readonly #sinceMs: number;

  /** Workers that ended before `sinceMs` are not reported. */
  constructor(output: { problem(text: string): void; step(text: string): void }, sinceMs = 0) {
    this.#output = output;
    this.#sinceMs = sinceMs;
  }

  /**
   * Checks the running and ended workers of an endpoint. A worker that was replaced at once is only among the
   * latter. Each crash is reported once.
   */
  update(endpoint: string, workers: readonly Worker[], ended: readonly EndedWorkers[] = []): void {
    for (const { lastWorkerId, reason, exitCode, lastEndTime } of ended.toReversed()) {
      if ((lastEndTime?.getTime() ?? 0) < this.#sinceMs || !this.#isNew(lastWorkerId)) continue;
      // The worker is lost, or a signal ended it and it had written nothing. Such a reason takes one line.
      if (exitCode === undefined && !reason.includes('\n'))
        this.#output.step(`worker ${lastWorkerId} of ${endpoint} has ended: ${plain(reason)}`);
      else this.#crash(endpoint, lastWorkerId, reason);
    }
    for (const { id, state, reason } of workers)
      if (state === WorkerState.UNHEALTHY && this.#isNew(id)) this.#crash(endpoint, id, reason);
  }

  #isNew(id: string): boolean {
    if (this.#seen.has(id)) return false;
    this.#seen.set(id, true);
    return true;
  }

  #crash(endpoint: string, id: string, reason: string): void {
    const text = plain(reason).trimEnd();
    const times = this.#repeats.count(`${endpoint} ${text.replaceAll(id, '')}`);
    if (times === 1)
      this.#output.problem(`Worker ${id} of ${endpoint} crashed; another one will be started in its place:\n${text}`);
    else if (times !== undefined)
      this.#output.step(
        `worker ${id} of ${endpoint} crashed again (${times} times), same error: ${text.split('\n').at(-1)}`,
      );
  }
}
