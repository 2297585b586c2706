/** Parts of its environment that a core replica is given: logger, time, chance and network. */

import type { Logger } from '@slipway/kit/log/logger';
import type { Transport } from '@slipway/kit/net/channel';
import type { Clock, Random } from '@slipway/kit/time/clock';

/** Parts of its environment that a replica uses. Its database comes with the configuration. */
export interface CoreDependencies {
  logger: Logger;
  /** Default: the machine's own. */
  clock?: Clock;
  /** Default: the machine's own. */
  random?: Random;
  /** Default: the machine's own. */
  transport?: Transport;
}

/** The same, with the defaults. */
export type Dependencies = Required<CoreDependencies>;
