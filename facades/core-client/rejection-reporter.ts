/**
 * Reports requests that were rejected by rate limits to all core replicas, once a second (EdgeService.TellRefusals).
 * The reports are best effort.
 */

import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import { callMetadata } from '@slipway/kit/net/channel';
import type { PerReplica } from '@slipway/kit/replicas/per-replica';
import type { EdgeServiceClient, EndpointRefusals, RefusedRequests } from '@slipway/proto/gen/slipway/v1/edge_service';
import { REJECTIONS_PER_CALL_MAX } from '@slipway/proto/wire/limits';
import type { ReplicaParts } from './replica-parts.ts';
import { edgeClients } from './replica-parts.ts';

const PERIOD_MS = 1_000;
/** Deadline of a call, in milliseconds. */
const ANSWER_MS = 2_000;
/** Most endpoints in one report interval. Rejections at others are not reported. */
const WAITING_MAX = 1_000;
/** Largest count that int32 holds comfortably. */
const COUNT_MAX = 1_000_000_000;

/** Caller of a rejected request. */
interface RejectedCaller {
  accountId: string;
  endpointId: string;
  apiKey: string;
}

type Waiting = Pick<EndpointRefusals, 'endpointId' | 'apiKey'> & { refused: Map<string, RefusedRequests> };

export class RejectionReporter extends LoopService {
  readonly #parts: ReplicaParts;
  readonly #waiting = new Map<string, Waiting>();
  readonly #clients: PerReplica<EdgeServiceClient>;

  constructor(parts: ReplicaParts & { logger: Logger }) {
    super({ ...parts, name: 'rejection reporter', periodMs: PERIOD_MS });
    this.#parts = parts;
    this.#clients = edgeClients(parts);
  }

  /** Counts a rejected request. */
  add(
    { accountId, endpointId, apiKey }: RejectedCaller,
    { limit, operation, most }: Omit<RefusedRequests, 'count'>,
  ): void {
    const name = `${accountId} ${endpointId}`;
    const waiting = this.#waiting.get(name) ?? { endpointId, apiKey, refused: new Map<string, RefusedRequests>() };
    if (!this.#waiting.has(name) && this.#waiting.size >= WAITING_MAX) return;
    const key = `${limit} ${operation}`;
    const count = Math.min((waiting.refused.get(key)?.count ?? 0) + 1, COUNT_MAX);
    waiting.refused.set(key, { limit, operation, most: Math.min(most, COUNT_MAX), count });
    this.#waiting.set(name, waiting);
  }

  protected override async onStop(): Promise<void> {
    this.#clients.close();
    await super.onStop();
  }

  protected override async pass(): Promise<void> {
    const reported = [...this.#waiting].slice(0, REJECTIONS_PER_CALL_MAX);
    if (reported.length === 0) return;
    for (const [name] of reported) this.#waiting.delete(name);
    const endpoints = reported.map(([, { endpointId, apiKey, refused }]) => ({
      endpointId,
      apiKey,
      refused: [...refused.values()],
    }));
    await Promise.all(this.#clients.all().map((client) => this.#reportTo(client, endpoints)));
  }

  /** Never rejects. */
  #reportTo(client: EdgeServiceClient, endpoints: EndpointRefusals[]): Promise<void> {
    const deadline = this.#parts.clock.nowMs() + ANSWER_MS;
    return new Promise((resolve) => {
      // Each entry carries its own key.
      client.tellRefusals({ endpoints }, callMetadata(''), { deadline }, () => resolve());
    });
  }
}
