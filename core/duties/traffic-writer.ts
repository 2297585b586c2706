/** Writes down what this replica saw of its endpoints' traffic, each ten seconds in one statement, and nothing while nothing went on. */
import { TRAFFIC_SPAN_MS } from '../domain/traffic.ts';
import type { TrafficMeter } from '../jobs/traffic-meter.ts';
import type { Clock, Random } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { Loop } from '../runtime/loop.ts';
import { BaseService } from '../runtime/service.ts';
import type { Stores } from '../store/storage.ts';

/** What writing needs. */
export interface TrafficWriterOptions {
  stores: Pick<Stores, 'traffic'>;
  traffic: TrafficMeter;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class TrafficWriter extends BaseService {
  readonly name = 'traffic writer';
  readonly #options: TrafficWriterOptions;
  readonly #loop: Loop;
  #sinceMs = 0;

  constructor(options: TrafficWriterOptions) {
    super();
    this.#options = options;
    const { clock, random, logger } = options;
    this.#loop = new Loop({ name: this.name, periodMs: TRAFFIC_SPAN_MS, pass: () => this.#pass(), clock, random, logger });
  }

  protected override onStart(): Promise<void> {
    this.#sinceMs = this.#options.clock.monotonicMs();
    return this.#loop.start();
  }

  /** What was seen since the last pass is written at the end. */
  protected override async onStop(): Promise<void> {
    await this.#loop.stop();
    await this.#pass().catch((error: unknown) => this.#options.logger.debug({ err: error }, 'the last traffic was not written down'));
  }

  async #pass(): Promise<void> {
    const { stores, traffic, clock } = this.#options;
    const now = clock.monotonicMs();
    const spanMs = Math.max(Math.round(now - this.#sinceMs), 1);
    this.#sinceMs = now;
    const taken = traffic.take();
    if (taken.length > 0) await stores.traffic.append(taken, spanMs);
  }
}
