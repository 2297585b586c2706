/** Requests to load-balancing endpoints: held unread until a worker has room, then carried to it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../core/runtime/clock.ts';
import { BaseService } from '../../core/runtime/service.ts';
import { clientGone } from './client-gone.ts';
import type { PlaceRequest, WorkerPlace } from './endpoint-queue.ts';
import { dial, forward } from './forward.ts';
import type { ClientSide, ForwardLimits, Way } from './forward.ts';
import { KeptConnections } from './kept-connections.ts';
import { WORKER_HEADER } from './lb-headers.ts';
import { needsEdge, notAllowed } from './lb-error.ts';
import type { LbTarget } from './lb-target.ts';
import type { Admitted, Places, WaitBounds } from './places.ts';
import type { Tunnels } from './tunnels.ts';
import type { AccessQuestion } from '../plugins/access-cache.ts';
import type { KeyWatch, WatchKey } from '../plugins/key-watch.ts';

/** What bounds requests. */
export interface ActivatorLimits extends ForwardLimits {
  /** Longest wait for a worker in milliseconds. */
  holdMs: number;
  waits: Pick<WaitBounds, 'strictMs'>;
}

/** Who asks. `question`: by what a key that is not an edge's word is checked again. */
export type Asker = Admitted & { question?: AccessQuestion };

/** What it needs. */
export interface ActivatorParts {
  places: Places;
  tunnels: Tunnels;
  keys: KeyWatch;
  limits: ActivatorLimits;
  clock: Clock;
}

export class Activator extends BaseService {
  readonly name = 'activator';
  readonly #places: Places;
  readonly #tunnels: Tunnels;
  readonly #keys: KeyWatch;
  readonly #limits: ActivatorLimits;
  readonly #clock: Clock;
  readonly #connections: KeptConnections;

  constructor({ places, tunnels, keys, limits, clock }: ActivatorParts) {
    super();
    this.#places = places;
    this.#tunnels = tunnels;
    this.#keys = keys;
    this.#limits = limits;
    this.#clock = clock;
    this.#connections = new KeptConnections(clock);
  }

  protected override onStart(): void {}

  protected override onStop(): void {
    this.#connections.destroy();
  }

  /** Carries a request that was let in to a worker. Rejects with what its client is to be told. */
  async serve(request: IncomingMessage, reply: ServerResponse, target: LbTarget, who: Asker, upgrade?: ClientSide['upgrade']): Promise<void> {
    const gone = clientGone(reply, upgrade);
    if (gone.aborted) return;
    const watchKey = who.question && this.#keys.access(who.question);
    const client: ClientSide = { request, reply, target, gone, upgrade, watchKey };
    const asked = this.#ask(request, gone);
    const endsAtMs = this.#clock.monotonicMs() + asked.waitMs;
    for (let again = false; ; again = true) {
      const waitMs = Math.max(0, endsAtMs - this.#clock.monotonicMs());
      const place = await this.#place(target.endpointId, who, { ...asked, waitMs, again }, watchKey).catch((error: unknown) => {
        if (gone.aborted) return undefined;
        throw error;
      });
      if (!place) return;
      try {
        if (!this.#places.carries(target.endpointId)) throw needsEdge();
        const way = this.#kept(place, upgrade) ?? await this.#open(place, upgrade, gone);
        const outcome = way && await forward(client, way, place, this.#limits, this.#clock);
        if (outcome === 'SERVED' || gone.aborted) return;
        if (outcome !== 'AGAIN') this.#places.suspect(target.endpointId, place);
      } finally {
        place.release();
      }
    }
  }

  /** Waits for a place for as long as the key does. */
  async #place(endpointId: string, who: Asker, asked: PlaceRequest, watchKey: WatchKey | undefined): Promise<WorkerPlace> {
    if (!watchKey) return this.#places.place(endpointId, who, asked);
    const revoked = new AbortController();
    const unwatch = watchKey(() => revoked.abort());
    try {
      return await this.#places.place(endpointId, who, { ...asked, signal: AbortSignal.any([asked.signal, revoked.signal]) });
    } catch (error) {
      throw revoked.signal.aborted ? notAllowed('invalid api key') : error;
    } finally {
      unwatch();
    }
  }

  /** One that is kept. It is there only until anything else is done. */
  #kept({ isKept, address }: WorkerPlace, upgrade: ClientSide['upgrade']): Way | undefined {
    return isKept && !upgrade && this.#connections.has(address) ? { kept: this.#connections, address } : undefined;
  }

  /** Undefined: nobody listens there. */
  async #open({ workerId, address, tunnelMachineId, isKept }: WorkerPlace, upgrade: ClientSide['upgrade'], gone: AbortSignal): Promise<Way | undefined> {
    if (tunnelMachineId !== '') return wayBy(await this.#tunnels.open(tunnelMachineId, workerId, gone));
    const socket = await dial(address, gone);
    return socket && isKept && !upgrade ? { socket, kept: this.#connections, address } : wayBy(socket);
  }

  #ask({ headers }: IncomingMessage, signal: AbortSignal): PlaceRequest {
    const [, mode, workerId] = /^\s*(?:(strict|strict-resume)\s+)?([\w-]{1,64})\s*$/i.exec(String(headers[WORKER_HEADER] ?? '')) ?? [];
    const strict = mode !== undefined;
    return { workerId, strict, waitMs: strict ? this.#limits.waits.strictMs : this.#limits.holdMs, again: false, signal };
  }
}

function wayBy(socket: Duplex | undefined): Way | undefined {
  return socket && { socket };
}
