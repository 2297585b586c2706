/** Holds requests to load-balancing endpoints unread until a worker has capacity, then forwards them to it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { BaseService } from '@slipway/kit/lifecycle/service';
import type { Clock } from '@slipway/kit/time/clock';
import type { AccessRequest } from '../plugins/limits/access-cache.ts';
import type { KeyWatch, WatchKey } from '../plugins/limits/key-watch.ts';
import { clientGone } from './client-gone.ts';
import type { ClientSide } from './forwarding/client-side.ts';
import { ConnectionPool } from './forwarding/connection-pool.ts';
import type { ForwardLimits } from './forwarding/forward.ts';
import { forward } from './forwarding/forward.ts';
import type { WorkerConnection } from './forwarding/worker-connection.ts';
import { dial } from './forwarding/worker-connection.ts';
import { needsEdge, unauthorized } from './lb-error.ts';
import { WORKER_HEADER } from './lb-headers.ts';
import type { LbTarget } from './lb-target.ts';
import type { AuthorizedCaller, LoadBalancer, WaitBounds } from './load-balancer.ts';
import type { RequestListener } from './request-count.ts';
import { RequestCount } from './request-count.ts';
import type { Tunnels } from './tunnels.ts';
import type { SlotRequest, WorkerSlot } from './worker-slot.ts';

/** Time limits of requests. */
interface ActivatorLimits extends ForwardLimits {
  /** Longest wait for a worker in milliseconds. */
  holdMs: number;
  waits: Pick<WaitBounds, 'strictMs'>;
}

/**
 * The caller of a request. `question`: the access check that is repeated while the request waits or runs. Absent if an
 * edge has authorized it.
 */
type Caller = AuthorizedCaller & { question?: AccessRequest };

interface ActivatorParts {
  loadBalancer: LoadBalancer;
  tunnels: Tunnels;
  keys: KeyWatch;
  limits: ActivatorLimits;
  /** Receives each request when it has ended. Default: none. */
  onRequest?: RequestListener;
  clock: Clock;
}

export class Activator extends BaseService {
  readonly name = 'activator';
  readonly #loadBalancer: LoadBalancer;
  readonly #tunnels: Tunnels;
  readonly #keys: KeyWatch;
  readonly #limits: ActivatorLimits;
  readonly #onRequest: RequestListener;
  readonly #clock: Clock;
  readonly #connections: ConnectionPool;

  constructor({ loadBalancer, tunnels, keys, limits, onRequest = () => undefined, clock }: ActivatorParts) {
    super();
    this.#loadBalancer = loadBalancer;
    this.#tunnels = tunnels;
    this.#keys = keys;
    this.#limits = limits;
    this.#onRequest = onRequest;
    this.#clock = clock;
    this.#connections = new ConnectionPool(clock);
  }

  protected override onStart(): void {}

  protected override onStop(): void {
    this.#connections.destroy();
  }

  /** Forwards an authorized request to a worker. Rejects with the error for the client. */
  async serve(
    request: IncomingMessage,
    reply: ServerResponse,
    target: LbTarget,
    who: Caller,
    upgrade?: ClientSide['upgrade'],
  ): Promise<void> {
    const gone = clientGone(reply, upgrade);
    if (gone.aborted) return;
    const watchKey = who.question && this.#keys.access(who.question);
    const { apiKey } = who;
    const count = new RequestCount({
      request,
      reply,
      target,
      apiKey,
      gone,
      clock: this.#clock,
      listener: this.#onRequest,
    });
    try {
      await this.#serve({ request, reply, target, gone, upgrade, watchKey, count }, who, count);
    } catch (error) {
      count.reject(error);
      throw error;
    }
    count.end();
  }

  async #serve(client: ClientSide, who: Caller, count: RequestCount): Promise<void> {
    const { request, target, gone, upgrade, watchKey } = client;
    const slotRequest = this.#slotRequest(request, gone);
    const endsAtMs = this.#clock.monotonicMs() + slotRequest.waitMs;
    for (let isRetry = false; ; isRetry = true) {
      const waitMs = Math.max(0, endsAtMs - this.#clock.monotonicMs());
      const slot = await this.#acquire(target.endpointId, who, { ...slotRequest, waitMs, isRetry }, watchKey).catch(
        (error: unknown) => {
          if (gone.aborted) return undefined;
          throw error;
        },
      );
      if (!slot) return;
      count.workerId = slot.workerId;
      try {
        if (!this.#loadBalancer.carries(target.endpointId)) throw needsEdge();
        const connection = this.#pooled(slot, upgrade) ?? (await this.#open(slot, upgrade, gone));
        const outcome = connection && (await forward(client, connection, slot, this.#limits, this.#clock));
        if (outcome === 'SERVED' || gone.aborted) return;
        if (outcome !== 'AGAIN') this.#loadBalancer.suspect(target.endpointId, slot);
        count.workerId = '';
      } finally {
        slot.release();
      }
    }
  }

  /** Waits for a slot as long as the key is valid. */
  async #acquire(
    endpointId: string,
    who: Caller,
    request: SlotRequest,
    watchKey: WatchKey | undefined,
  ): Promise<WorkerSlot> {
    if (!watchKey) return this.#loadBalancer.acquire(endpointId, who, request);
    // AbortSignal.any would cost more than the rest of the wait.
    const over = new AbortController();
    const leave = (): void => over.abort(request.signal.reason);
    request.signal.addEventListener('abort', leave);
    const unwatch = watchKey(() => over.abort(unauthorized('invalid api key')));
    try {
      return await this.#loadBalancer.acquire(endpointId, who, { ...request, signal: over.signal });
    } finally {
      unwatch();
      request.signal.removeEventListener('abort', leave);
    }
  }

  /** Returns a pooled connection, which is valid only until the next await. `undefined` if there is none. */
  #pooled({ isPooled, address }: WorkerSlot, upgrade: ClientSide['upgrade']): WorkerConnection | undefined {
    return isPooled && !upgrade && this.#connections.has(address) ? { pool: this.#connections, address } : undefined;
  }

  /** Opens a connection to the worker. Returns `undefined` if nothing listens there. */
  async #open(
    { workerId, address, tunnelMachineId, isPooled }: WorkerSlot,
    upgrade: ClientSide['upgrade'],
    gone: AbortSignal,
  ): Promise<WorkerConnection | undefined> {
    if (tunnelMachineId !== '') return direct(await this.#tunnels.open(tunnelMachineId, workerId, gone));
    const socket = await dial(address, gone);
    return socket && isPooled && !upgrade ? { socket, pool: this.#connections, address } : direct(socket);
  }

  #slotRequest({ headers }: IncomingMessage, signal: AbortSignal): SlotRequest {
    const [, mode, workerId] =
      /^\s*(?:(strict|strict-resume)\s+)?([\w-]{1,64})\s*$/i.exec(String(headers[WORKER_HEADER] ?? '')) ?? [];
    const strict = mode !== undefined;
    return {
      workerId,
      strict,
      waitMs: strict ? this.#limits.waits.strictMs : this.#limits.holdMs,
      isRetry: false,
      signal,
    };
  }
}

function direct(socket: Duplex | undefined): WorkerConnection | undefined {
  return socket && { socket };
}
