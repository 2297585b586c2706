/**
 * Stores the requests to load-balancing endpoints that this replica heard of, every ten seconds in one statement, and
 * nothing if there were none.
 */

import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { TRAFFIC_SPAN_MS } from '../domain/scaling/traffic.ts';
import type { Stores } from '../store/storage.ts';
import type { RequestMeter } from './request-meter.ts';

interface RequestWriterOptions {
  requests: Pick<Stores['requests'], 'append'>;
  meter: RequestMeter;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class RequestWriter extends LoopService {
  readonly #options: RequestWriterOptions;
  #sinceMs = 0;

  constructor(options: RequestWriterOptions) {
    super({ ...options, name: 'request writer', periodMs: TRAFFIC_SPAN_MS });
    this.#options = options;
  }

  protected override onStart(): Promise<void> {
    this.#sinceMs = this.#options.clock.monotonicMs();
    return super.onStart();
  }

  /** Stores the requests since the last pass before the service stops. */
  protected override async onStop(): Promise<void> {
    await super.onStop();
    await this.pass().catch((error: unknown) =>
      this.#options.logger.debug({ err: error }, 'last requests were not stored'),
    );
  }

  protected override async pass(): Promise<void> {
    const { requests, meter, clock } = this.#options;
    const now = clock.monotonicMs();
    const spanMs = Math.max(Math.round(now - this.#sinceMs), 1);
    const taken = meter.take();
    if (taken.counts.length + taken.failed.length > 0)
      await requests.append(taken, spanMs).catch((error: unknown) => {
        meter.putBack(taken);
        throw error;
      });
    this.#sinceMs = now;
  }
}
