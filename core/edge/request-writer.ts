/** Stores the requests to load-balancing endpoints that this replica heard of, every ten seconds in one statement. */

import { MeterWriter } from '@slipway/kit/lifecycle/meter-writer';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { TRAFFIC_SPAN_MS } from '../domain/scaling/traffic.ts';
import type { Stores } from '../store/storage.ts';
import type { RequestMeter, TakenRequests } from './request-meter.ts';
import { withKnownWorkers } from './request-meter.ts';

interface RequestWriterOptions {
  requests: Pick<Stores['requests'], 'append' | 'workersOf'>;
  meter: RequestMeter;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class RequestWriter extends MeterWriter<TakenRequests> {
  constructor(options: RequestWriterOptions) {
    super({
      ...options,
      name: 'request writer',
      periodMs: TRAFFIC_SPAN_MS,
      store: async (taken, spanMs) => {
        const { requests } = options;
        const counts = withKnownWorkers(taken.counts, await requests.workersOf(taken.counts));
        await requests.append({ ...taken, counts }, spanMs);
      },
    });
  }
}
