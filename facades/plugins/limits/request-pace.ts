/**
 * Starts a few requests in each tick of the event loop. Requests beyond that wait unread for a later tick, and clients
 * take turns. Without it a client that opens thousands of connections at a time blocks the process until all its
 * requests have started: Node reads up to 1,024 of them in one tick.
 */

import type { Clock } from '@slipway/kit/time/clock';

/** Most requests that start in one tick. A request takes about 0.1 ms until it waits for something. */
const OF_TICK_MAX = 8;

/** Starts a request. */
type Start = () => void;

export class RequestPace {
  readonly #clock: Pick<Clock, 'soon'>;
  /** Waiting requests by client. The client whose turn is next comes first. */
  readonly #waiting = new Map<string, Start[]>();
  #ofTick = 0;
  #isScheduled = false;

  constructor(clock: Pick<Clock, 'soon'>) {
    this.#clock = clock;
  }

  /** Starts a request, now or in a later tick. `clientOf` names its client. It is called if the request must wait. */
  enter(clientOf: () => string, start: Start): void {
    this.#schedule();
    // No client waits before the tick is full.
    if (this.#ofTick < OF_TICK_MAX) return this.#run(start);
    const client = clientOf();
    const waiting = this.#waiting.get(client);
    if (waiting) waiting.push(start);
    else this.#waiting.set(client, [start]);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#clock.soon(() => this.#round());
  }

  /** Starts the requests of a new tick. */
  #round(): void {
    this.#isScheduled = false;
    this.#ofTick = 0;
    while (this.#ofTick < OF_TICK_MAX) {
      const [next] = this.#waiting;
      if (!next) return;
      this.#schedule();
      const [client, waiting] = next;
      this.#waiting.delete(client);
      const start = waiting.shift()!;
      if (waiting.length > 0) this.#waiting.set(client, waiting);
      this.#run(start);
    }
  }

  #run(start: Start): void {
    this.#ofTick += 1;
    start();
  }
}
