/** Dependencies of everything that calls core. */

import type { Transport } from '@slipway/kit/net/channel';
import type { TlsSource } from '@slipway/kit/net/tls-source';
import type { Clock, Random } from '@slipway/kit/time/clock';

/** Addresses of the replicas, and the dependencies of calls. */
export interface ReplicaParts {
  /** One for each replica, at least one: host:port or grpcs://host:port. */
  addresses: readonly string[];
  /** TLS settings, for replicas with TLS (kit/net/tls.ts). */
  tls?: TlsSource | undefined;
  transport: Transport;
  clock: Clock;
  random: Random;
}

/** Time in which a call tries to find a working core, in milliseconds, before it fails with UNAVAILABLE. */
export const RETRY_BUDGET_MS = 8_000;
