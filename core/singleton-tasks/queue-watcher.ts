/**
 * Checks the queues of endpoints that have free workers here and seem to have an empty queue: the guarantee behind
 * the notices.
 */

import type { ActivityMonitor } from '@slipway/kit/lifecycle/activity';
import { REST_MS } from '@slipway/kit/lifecycle/activity';
import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { CoreEvents } from '../events/core-events.ts';
import type { QueueCursors } from '../jobs/submit/queue-cursors.ts';
import type { Stores } from '../store/storage.ts';

interface QueueWatcherOptions {
  stores: { claims: Pick<Stores['claims'], 'queuedEndpoints'> };
  events: CoreEvents;
  cursors: QueueCursors;
  /** Default: it never rests. */
  activity?: ActivityMonitor | undefined;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/**
 * A queued job whose notices were all lost is found within this many milliseconds (a core alone, which gets no notices,
 * may rest for REST_MS), …
 */
const PERIOD_MS = 1_000;
/**
 * … or, if the database stays slow, within this many times the shorter of the last two checks, but at most
 * `PAUSE_MS_MAX`: every replica checks, and must not load it further. One late answer makes only one check slow.
 */
const REST_FACTOR = 20;
const PAUSE_MS_MAX = 120_000;
const BATCH_ITEMS_MAX = 500;

export class QueueWatcher extends LoopService {
  readonly #options: QueueWatcherOptions;
  #restUntilMs = 0;
  /** Duration of the last check in milliseconds. */
  #tookMs = 0;

  constructor(options: QueueWatcherOptions) {
    super({ ...options, name: 'queue watcher', periodMs: PERIOD_MS, restMs: REST_MS });
    this.#options = options;
  }

  /** Checks, unless it pauses. Returns the endpoints whose queue is not empty after all. */
  async runOnce(): Promise<string[]> {
    const { clock } = this.#options;
    const startedAtMs = clock.monotonicMs();
    if (startedAtMs < this.#restUntilMs) return [];
    const found = await this.#check();
    const endedAtMs = clock.monotonicMs();
    const tookMs = endedAtMs - startedAtMs;
    this.#restUntilMs = endedAtMs + Math.min(PAUSE_MS_MAX, Math.min(tookMs, this.#tookMs) * REST_FACTOR);
    this.#tookMs = tookMs;
    return found;
  }

  protected override async pass(): Promise<void> {
    await this.runOnce();
  }

  async #check(): Promise<string[]> {
    const { stores, cursors, events } = this.#options;
    const watched = cursors.watched();
    const found: string[] = [];
    for (let from = 0; from < watched.length; from += BATCH_ITEMS_MAX) {
      found.push(...(await stores.claims.queuedEndpoints(watched.slice(from, from + BATCH_ITEMS_MAX))));
    }
    for (const endpointId of found) cursors.correct(endpointId);
    events.emit('queued', found);
    return found;
  }
}
