/**
 * One Envoy's load reports: how many requests each worker has right now, once a second. That is what load-balancing
 * endpoints are scaled by.
 */
import type { ServerDuplexStream } from '@grpc/grpc-js';
import { endpointOfCluster } from '@slipway/kit/net/edge-authorizer';
import type { ClusterStats } from '@slipway/proto/gen/envoy/config/endpoint/v3/endpoint';
import type { LoadStatsRequest, LoadStatsResponse } from '@slipway/proto/gen/envoy/service/load_stats/v3/lrs';
import { LINK_TIMERS } from '@slipway/proto/wire/link-timers';
import type { BackendDirectory } from '../../edge/backend-directory.ts';
import type { DemandWriter } from '../../edge/demand-writer.ts';
import type { Demand } from '../../store/machines/edge-store.ts';

/** A stream of the service. */
type LoadCall = ServerDuplexStream<LoadStatsRequest, LoadStatsResponse>;

export interface LoadParts {
  directory: BackendDirectory;
  demands: DemandWriter;
  /** Tells this stream from others, of Envoys that do not say who they are. */
  streamId: string;
}

/** Form of what an Envoy of `slipway edge` calls itself (edge/envoy-config/bootstrap.ts). */
const INSTANCE = /^[\w-]{16,64}$/;
/** Workers' priority; what activators have they report themselves. */
const WORKERS = 0;

export class LoadStream {
  readonly #call: LoadCall;
  readonly #parts: LoadParts;
  /** Endpoints whose last report was not zero: the end of the last request is told too. */
  #busy = new Set<string>();
  #reporter: string;
  #asked = false;
  /** The first report says all that the Envoy has, whatever it said on other streams. */
  #isFirst = true;
  readonly #end: () => void;

  constructor(call: LoadCall, parts: LoadParts, onEnd: () => void) {
    this.#call = call;
    this.#parts = parts;
    this.#reporter = `edge ${parts.streamId}`;
    const off = parts.directory.listen(() => undefined);
    // What it said counts on until it is back or its time is over: that the stream has ended does not say that requests
    // have.
    this.#end = () => {
      off();
      onEnd();
    };
    call.on('data', (request: LoadStatsRequest) => this.#take(request));
    call.on('end', () => call.end());
    for (const event of ['cancelled', 'error', 'close']) call.on(event, () => this.#end());
  }

  /** Ends it; the Envoy reports to another replica then. */
  close(): void {
    this.#call.end();
  }

  #take({ node, clusterStats }: LoadStatsRequest): void {
    if (!this.#asked) {
      this.#asked = true;
      const instance: unknown = node?.metadata?.['instance'];
      if (typeof instance === 'string' && INSTANCE.test(instance)) this.#reporter = `edge ${instance}`;
      const loadReportingInterval = { seconds: LINK_TIMERS.loadReportMs / 1_000, nanos: 0 };
      this.#call.write({ clusters: [], sendAllClusters: true, reportEndpointGranularity: true, loadReportingInterval });
      return;
    }
    // Addresses cannot be told apart yet; the next report comes soon.
    if (!this.#parts.directory.loaded) return;
    const demands = this.#demandsOf(clusterStats);
    const busy = new Set(demands.map(({ endpointId }) => endpointId));
    if (this.#isFirst) this.#parts.demands.replace(this.#reporter, demands);
    else
      for (const demand of [...demands, ...[...this.#busy].filter((id) => !busy.has(id)).map((id) => this.#demand(id))])
        this.#parts.demands.add(demand);
    this.#isFirst = false;
    this.#busy = busy;
  }

  /** Of endpoints with requests. */
  #demandsOf(clusterStats: readonly ClusterStats[]): Demand[] {
    const { endpoints } = this.#parts.directory;
    return clusterStats.flatMap((stats) => {
      const endpointId = endpointOfCluster(stats.clusterName);
      const endpoint = endpointId === undefined ? undefined : endpoints.get(endpointId);
      if (!endpoint) return [];
      const inFlight = inFlightOf(stats, new Map(endpoint.workers.map(({ id, address }) => [address, id])));
      return inFlight.size === 0 ? [] : [this.#demand(endpoint.endpointId, inFlight)];
    });
  }

  #demand(endpointId: string, inFlight: ReadonlyMap<string, number> = new Map()): Demand {
    return { endpointId, reporter: this.#reporter, waiting: 0, inFlight };
  }
}

/** By worker; those of addresses that no worker has any more are left out. */
function inFlightOf(
  { upstreamLocalityStats }: ClusterStats,
  workers: ReadonlyMap<string, string>,
): Map<string, number> {
  const inFlight = new Map<string, number>();
  for (const { priority, upstreamEndpointStats } of upstreamLocalityStats) {
    if (priority !== WORKERS) continue;
    for (const { address, totalRequestsInProgress: count } of upstreamEndpointStats) {
      const socket = address?.address?.value;
      if (!socket || count === 0) continue;
      const port = socket.portSpecifier?.value ?? 0;
      const worker = workers.get(
        socket.address.includes(':') ? `[${socket.address}]:${port}` : `${socket.address}:${port}`,
      );
      if (worker !== undefined) inFlight.set(worker, (inFlight.get(worker) ?? 0) + count);
    }
  }
  return inFlight;
}
