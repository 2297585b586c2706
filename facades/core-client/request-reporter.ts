/**
 * Reports requests to load-balancing endpoints that ended here to core, every few seconds and only if there were any
 * (EdgeService.ReportRequests). While no replica answers they wait, summed up.
 */

import { status } from '@grpc/grpc-js';
import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import { callMetadata } from '@slipway/kit/net/channel';
import type { EndedRequest, RequestCounts } from '@slipway/kit/observe/request-counts';
import { addRequests, countRequest, FAILED_REPORTED_MAX, noRequests } from '@slipway/kit/observe/request-counts';
import type { PerReplica } from '@slipway/kit/replicas/per-replica';
import type { EdgeServiceClient, EndedRequests } from '@slipway/proto/gen/slipway/v1/edge_service';
import type { FailedRequest } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import { REJECTIONS_PER_CALL_MAX } from '@slipway/proto/wire/limits';
import type { ReplicaParts } from './replica-parts.ts';
import { edgeClients } from './replica-parts.ts';

const PERIOD_MS = 3_000;
/** Deadline of a call, in milliseconds. */
const ANSWER_MS = 2_000;
/** Most endpoints, and most workers of each, that wait for a report. Requests at others are not reported. */
const WAITING_MAX = 1_000;
const WORKERS_MAX = 1_000;

interface Waiting {
  apiKey: string;
  workers: Map<string, RequestCounts>;
  failed: FailedRequest[];
}

export class RequestReporter extends LoopService {
  readonly #parts: ReplicaParts & { edgeKey: string };
  readonly #waiting = new Map<string, Waiting>();
  readonly #clients: PerReplica<EdgeServiceClient>;

  constructor(parts: ReplicaParts & { edgeKey: string; logger: Logger }) {
    super({ ...parts, name: 'request reporter', periodMs: PERIOD_MS });
    this.#parts = parts;
    this.#clients = edgeClients(parts);
  }

  /**
   * Counts a request. `apiKey`: empty if an edge has authorized it. `workerId`: empty if no worker got it. `failed`:
   * set if it failed; a sample of these is reported.
   */
  add(
    { endpointId, apiKey, workerId }: { endpointId: string; apiKey: string; workerId: string },
    ended: EndedRequest,
    failed?: FailedRequest,
  ): void {
    let waiting = this.#waiting.get(endpointId);
    if (!waiting) {
      if (this.#waiting.size >= WAITING_MAX) return;
      waiting = { apiKey, workers: new Map(), failed: [] };
      this.#waiting.set(endpointId, waiting);
    }
    waiting.apiKey = apiKey;
    const id = waiting.workers.size < WORKERS_MAX - 1 || waiting.workers.has(workerId) ? workerId : '';
    const counts = waiting.workers.get(id) ?? noRequests();
    waiting.workers.set(id, counts);
    countRequest(counts, ended);
    if (!failed) return;
    waiting.failed.push(failed);
    if (waiting.failed.length > FAILED_REPORTED_MAX) waiting.failed.shift();
  }

  /** Reports the last requests before it stops. */
  protected override async onStop(): Promise<void> {
    await super.onStop();
    await this.pass();
    this.#clients.close();
  }

  protected override async pass(): Promise<boolean> {
    const taken = [...this.#waiting].slice(0, REJECTIONS_PER_CALL_MAX);
    if (taken.length === 0) return false;
    const endpoints = taken.map(([endpointId, { apiKey, workers, failed }]) => ({
      endpointId,
      apiKey,
      workers: [...workers].map(([workerId, counts]) => ({ workerId, ...counts })),
      failed,
    }));
    for (const [endpointId] of taken) this.#waiting.delete(endpointId);
    for (const client of this.#clients.all())
      if (await this.#reportTo(client, endpoints)) return this.#waiting.size > 0;
    this.#putBack(taken);
    return false;
  }

  #putBack(taken: readonly (readonly [string, Waiting])[]): void {
    for (const [endpointId, { apiKey, workers, failed }] of taken) {
      const since = this.#waiting.get(endpointId);
      const merged = new Map(workers);
      for (const [workerId, counts] of since?.workers ?? []) merged.set(workerId, sumOf(merged.get(workerId), counts));
      this.#waiting.set(endpointId, {
        apiKey: since?.apiKey ?? apiKey,
        workers: merged,
        failed: [...failed, ...(since?.failed ?? [])].slice(-FAILED_REPORTED_MAX),
      });
    }
  }

  /** Returns whether the replica has the report, or may have it: counts are added up, so it is not sent twice. */
  #reportTo(client: EdgeServiceClient, endpoints: EndedRequests[]): Promise<boolean> {
    const deadline = this.#parts.clock.nowMs() + ANSWER_MS;
    return new Promise((resolve) => {
      client.reportRequests({ endpoints }, callMetadata(this.#parts.edgeKey), { deadline }, (error) =>
        resolve(error?.code !== status.UNAVAILABLE),
      );
    });
  }
}

function sumOf(sum: RequestCounts | undefined, more: RequestCounts): RequestCounts {
  const total = noRequests();
  for (const each of sum ? [sum, more] : [more]) addRequests(total, each);
  return total;
}
