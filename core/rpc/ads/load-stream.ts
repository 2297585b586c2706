/** One Envoy's load reports: how many requests each worker has right now, once a second. That is what load-balancing endpoints are scaled by. */
import type { ServerDuplexStream } from '@grpc/grpc-js';
import type { ClusterStats } from '../../../proto/gen/envoy/config/endpoint/v3/endpoint.ts';
import type { LoadStatsRequest, LoadStatsResponse } from '../../../proto/gen/envoy/service/load_stats/v3/lrs.ts';
import type { DemandBook } from '../../edge/demand-book.ts';
import type { RotationList } from '../../edge/rotation-list.ts';
import { endpointOfCluster } from '../../../proto/wire/edge-authorizer.ts';

/** A stream of the service. */
export type LoadCall = ServerDuplexStream<LoadStatsRequest, LoadStatsResponse>;

/** What it needs. */
export interface LoadParts {
  list: RotationList;
  book: DemandBook;
  /** Tells reporters apart. */
  reporter: string;
}

/** How often an Envoy reports, in seconds. */
const INTERVAL_SECONDS = 1;
/** Workers' priority; what activators have they report themselves. */
const WORKERS = 0;

export class LoadStream {
  readonly #call: LoadCall;
  readonly #parts: LoadParts;
  /** Endpoints whose last report was not zero: the end of the last request is told too. */
  #busy = new Set<string>();
  #asked = false;
  readonly #end: () => void;

  constructor(call: LoadCall, parts: LoadParts, onEnd: () => void) {
    this.#call = call;
    this.#parts = parts;
    const off = parts.list.listen(() => undefined);
    this.#end = () => {
      off();
      // It begins a new stream when it comes back, under another name.
      parts.book.end(parts.reporter);
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

  #take({ clusterStats }: LoadStatsRequest): void {
    if (!this.#asked) {
      this.#asked = true;
      const loadReportingInterval = { seconds: INTERVAL_SECONDS, nanos: 0 };
      this.#call.write({ clusters: [], sendAllClusters: true, reportEndpointGranularity: true, loadReportingInterval });
      return;
    }
    const { list, book, reporter } = this.#parts;
    const busy = new Set<string>();
    for (const stats of clusterStats) {
      const endpointId = endpointOfCluster(stats.clusterName);
      const endpoint = endpointId === undefined ? undefined : list.endpoints.get(endpointId);
      if (!endpoint) continue;
      const workers = new Map(endpoint.workers.map(({ id, address }) => [address, id]));
      const inFlight = inFlightOf(stats, workers);
      if (inFlight.size > 0) busy.add(endpoint.endpointId);
      if (inFlight.size > 0 || this.#busy.has(endpoint.endpointId)) book.add({ endpointId: endpoint.endpointId, reporter, waiting: 0, inFlight });
      this.#busy.delete(endpoint.endpointId);
    }
    for (const endpointId of this.#busy) book.add({ endpointId, reporter, waiting: 0, inFlight: new Map() });
    this.#busy = busy;
  }
}

/** By worker; those of addresses that no worker has any more are left out. */
function inFlightOf({ upstreamLocalityStats }: ClusterStats, workers: ReadonlyMap<string, string>): Map<string, number> {
  const inFlight = new Map<string, number>();
  for (const { priority, upstreamEndpointStats } of upstreamLocalityStats) {
    if (priority !== WORKERS) continue;
    for (const { address, totalRequestsInProgress: count } of upstreamEndpointStats) {
      const socket = address?.address?.value;
      if (!socket || count === 0) continue;
      const port = socket.portSpecifier?.value ?? 0;
      const worker = workers.get(socket.address.includes(':') ? `[${socket.address}]:${port}` : `${socket.address}:${port}`);
      if (worker !== undefined) inFlight.set(worker, (inFlight.get(worker) ?? 0) + count);
    }
  }
  return inFlight;
}
