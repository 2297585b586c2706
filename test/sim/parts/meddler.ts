/** Somebody who works on all jobs of an endpoint at once. */
import type { ChangeRequest, ChangeResult } from '@slipway/core/jobs/change/change-jobs';
import type { Changed, HistoryEvent } from '../checker/history.ts';
import { EFFECT_MS_MAX } from '../checker/history.ts';
import { NATURE } from '../world/being.ts';
import type { Answer, Asking } from './ask-replica.ts';
import { askReplica, isDecided } from './ask-replica.ts';

interface MeddlerOptions extends Asking {
  endpoints: readonly string[];
  record(event: HistoryEvent): void;
  /** Returns whether the faults are over. Then this ends too. */
  isOver(): boolean;
}

export class Meddler {
  readonly #options: MeddlerOptions;

  constructor(options: MeddlerOptions) {
    this.#options = options;
  }

  /** Begins to purge queues and to change many jobs at once, now and then. */
  begin(): void {
    const { world, endpoints, isOver } = this.#options;
    world.after(world.between(3_000, 9_000), NATURE, () => {
      if (isOver()) return;
      const endpoint = world.one(endpoints);
      if (world.chance(0.3)) void this.#purge(endpoint);
      else void this.changeMany(endpoint, world.chance(0.4) ? 'cancel' : 'retry');
      this.begin();
    });
  }

  async #purge(endpoint: string): Promise<void> {
    const fromMs = this.#options.world.nowMs;
    const answer = await askReplica(this.#options, (calls) => calls.purge(endpoint));
    const done = answer !== 'unknown' && 'value' in answer ? answer.value : undefined;
    this.#changed('purge', fromMs, endpoint, done);
  }

  /** Cancels all jobs of an endpoint that wait, or retries all that FAILED, a few at a time. */
  async changeMany(endpoint: string, move: 'cancel' | 'retry'): Promise<void> {
    const fromMs = this.#options.world.nowMs;
    const states = move === 'cancel' ? (['IN_QUEUE'] as const) : (['FAILED'] as const);
    let request: ChangeRequest | undefined = {
      ...{ endpointId: endpoint, move, states, submitted: undefined },
      limit: 2,
    };
    let done = 0;
    let overMs = 0;
    for (let tries = 0; request && tries < 60; tries += 1) {
      const wanted: ChangeRequest = request;
      const answer: Answer<ChangeResult> = await askReplica(this.#options, (calls) => calls.change(wanted));
      // A call that was given up may change jobs after a later one has.
      if (!isDecided(answer)) overMs = this.#options.world.nowMs + EFFECT_MS_MAX;
      if (answer === 'unknown' || 'error' in answer) {
        await this.#options.world.pause(200, NATURE);
        continue;
      }
      done += answer.value.done;
      request = answer.value.next && { ...answer.value.next, limit: 2 };
    }
    this.#changed(`bulk ${move}`, fromMs, endpoint, request ? undefined : done, overMs);
  }

  /** `overMs`: the operation may have effects until then. */
  #changed(is: Changed['is'], fromMs: number, endpoint: string, done: number | undefined, overMs = 0): void {
    const atMs = done === undefined ? undefined : Math.max(this.#options.world.nowMs, overMs);
    this.#options.record({ is, fromMs, atMs, job: '', endpoint, done: done ?? 0 });
  }
}
