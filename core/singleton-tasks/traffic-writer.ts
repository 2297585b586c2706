/** Stores the traffic that this replica saw, every ten seconds in one statement, and nothing if there was none. */

import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { TRAFFIC_SPAN_MS } from '../domain/scaling/traffic.ts';
import type { TrafficMeter } from '../jobs/submit/traffic-meter.ts';
import type { Stores } from '../store/storage.ts';

interface TrafficWriterOptions {
  stores: Pick<Stores, 'traffic'>;
  traffic: TrafficMeter;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class TrafficWriter extends LoopService {
  readonly #options: TrafficWriterOptions;
  #sinceMs = 0;

  constructor(options: TrafficWriterOptions) {
    super({ ...options, name: 'traffic writer', periodMs: TRAFFIC_SPAN_MS });
    this.#options = options;
  }

  protected override onStart(): Promise<void> {
    this.#sinceMs = this.#options.clock.monotonicMs();
    return super.onStart();
  }

  /** Stores the traffic since the last pass before the service stops. */
  protected override async onStop(): Promise<void> {
    await super.onStop();
    await this.pass().catch((error: unknown) =>
      this.#options.logger.debug({ err: error }, 'last traffic was not stored'),
    );
  }

  protected override async pass(): Promise<void> {
    const { stores, traffic, clock } = this.#options;
    const now = clock.monotonicMs();
    const spanMs = Math.max(Math.round(now - this.#sinceMs), 1);
    this.#sinceMs = now;
    const taken = traffic.take();
    if (taken.length > 0) await stores.traffic.append(taken, spanMs);
  }
}
