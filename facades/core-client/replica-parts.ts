/** Dependencies of everything that calls core. */

import type { Client } from '@grpc/grpc-js';
import type { Logger } from '@slipway/kit/log/logger';
import type { ChannelSettings, ClientConstructor, Transport } from '@slipway/kit/net/channel';
import type { TlsSource } from '@slipway/kit/net/tls-source';
import { PerReplica } from '@slipway/kit/replicas/per-replica';
import { ReplicaList } from '@slipway/kit/replicas/replica-list';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { EdgeServiceClient } from '@slipway/proto/gen/slipway/v1/edge_service';
import { JoinServiceClient } from '@slipway/proto/gen/slipway/v1/join_service';
import { LINK_TIMERS } from '@slipway/proto/wire/link-timers';
import { CoreConnection } from './core-connection.ts';

/** Addresses of the replicas, and the dependencies of calls. */
export interface ReplicaParts {
  /**
   * One for each replica, at least one: host:port or grpcs://host:port. The array changes while replicas come and go
   * (kit/replicas/replica-list.ts).
   */
  addresses: readonly string[];
  /** Calls a listener after each change of the addresses. Absent: they do not change. */
  onAddresses?: ((listener: () => void) => void) | undefined;
  /** TLS settings, for replicas with TLS (kit/net/tls.ts). */
  tls?: TlsSource | undefined;
  transport: Transport;
  clock: Clock;
  random: Random;
}

/** Time in which a call tries to find a working core, in milliseconds, before it fails with UNAVAILABLE. */
export const RETRY_BUDGET_MS = 8_000;

/** Returns the list of all replicas, which begins with the configured ones. */
export function replicaList(
  parts: Omit<ReplicaParts, 'addresses' | 'onAddresses'> & { configured: readonly string[]; logger: Logger },
): ReplicaList {
  return new ReplicaList({ ...parts, service: JoinServiceClient, periodMs: LINK_TIMERS.replicaListMs });
}

/** Returns the addresses of a list, which change as it does. */
export function replicaAddresses(list: ReplicaList): Pick<ReplicaParts, 'addresses' | 'onAddresses'> {
  return { addresses: list.addresses, onAddresses: (listener) => list.onChange(listener) };
}

/** Returns a client of EdgeService for each replica. */
export function edgeClients(
  parts: Pick<ReplicaParts, 'addresses' | 'tls' | 'transport'>,
): PerReplica<EdgeServiceClient> {
  const { tls, transport } = parts;
  return new PerReplica(
    () => parts.addresses,
    (address) => transport.openClient(EdgeServiceClient, address, { tls }),
    (client) => client.close(),
  );
}

/** Returns a connection to a service of each replica. */
export function connections<Service extends Client>(
  service: ClientConstructor<Service>,
  parts: Omit<ReplicaParts, 'random'>,
  settings: Pick<ChannelSettings, 'pings'> = {},
): PerReplica<CoreConnection<Service>> {
  const { tls, transport, clock } = parts;
  return new PerReplica(
    () => parts.addresses,
    (address) =>
      new CoreConnection({ open: () => transport.openClient(service, address, { tls, ...settings }), clock }),
    (line) => line.close(),
  );
}
