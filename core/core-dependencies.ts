/** Dependencies of a core replica on its environment: logger, time, randomness and network. */

import type { ActivityMonitor } from '@slipway/kit/lifecycle/activity';
import type { Logger } from '@slipway/kit/log/logger';
import type { Transport } from '@slipway/kit/net/channel';
import type { Clock, Random } from '@slipway/kit/time/clock';

/** Dependencies that a replica can be given. Its database comes with the configuration. */
export interface CoreDependencies {
  logger: Logger;
  /** Default: the system clock. */
  clock?: Clock;
  /** Default: the system's random source. */
  random?: Random;
  /** Default: the system's network. */
  transport?: Transport;
}

/** The dependencies, with the defaults filled in. */
export type Dependencies = Required<CoreDependencies> & {
  /** Loops rest while nothing happens in the replica. */
  activity: ActivityMonitor;
};
