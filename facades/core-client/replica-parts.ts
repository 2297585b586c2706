/** Dependencies of everything that calls core. */

import type { Transport } from '@slipway/kit/net/channel';
import type { TlsSource } from '@slipway/kit/net/tls-source';
import type { Clock, Random } from '@slipway/kit/time/clock';

/** Addresses of the replicas, and the dependencies of calls. */
export interface ReplicaParts {
  /** One for each replica, at least one: host:port or grpcs://host:port. */
  addresses: readonly string[];
  /** For replicas by TLS (kit/net/tls.ts). */
  tls?: TlsSource | undefined;
  transport: Transport;
  clock: Clock;
  random: Random;
}

/** How long a call looks for a working core, in milliseconds, before it fails with UNAVAILABLE. */
export const RETRY_BUDGET_MS = 8_000;
