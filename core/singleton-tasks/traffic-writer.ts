/** Stores the traffic that this replica saw, every ten seconds in one statement. */

import { MeterWriter } from '@slipway/kit/lifecycle/meter-writer';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { TRAFFIC_SPAN_MS } from '../domain/scaling/traffic.ts';
import type { MeteredTraffic, TrafficMeter } from '../jobs/submit/traffic-meter.ts';
import type { Stores } from '../store/storage.ts';

interface TrafficWriterOptions {
  stores: Pick<Stores, 'traffic'>;
  traffic: TrafficMeter;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class TrafficWriter extends MeterWriter<MeteredTraffic[]> {
  constructor({ stores, traffic, clock, random, logger }: TrafficWriterOptions) {
    super({
      clock,
      random,
      logger,
      name: 'traffic writer',
      periodMs: TRAFFIC_SPAN_MS,
      meter: traffic,
      store: (taken, spanMs) => stores.traffic.append(taken, spanMs),
    });
  }
}
