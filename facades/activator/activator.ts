/** Requests to load-balancing endpoints: held unread until a worker has room, then carried to it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../core/runtime/clock.ts';
import type { PlaceRequest, WorkerPlace } from './endpoint-queue.ts';
import { dial, forward } from './forward.ts';
import type { ClientSide, ForwardLimits } from './forward.ts';
import { WORKER_HEADER } from './lb-headers.ts';
import { needsEdge } from './lb-error.ts';
import type { LbTarget } from './lb-target.ts';
import type { Admitted, Places, WaitBounds } from './places.ts';
import type { Tunnels } from './tunnels.ts';

/** What bounds requests. */
export interface ActivatorLimits extends ForwardLimits {
  /** Longest wait for a worker in milliseconds. */
  holdMs: number;
  waits: Pick<WaitBounds, 'strictMs'>;
}

export class Activator {
  readonly #places: Places;
  readonly #tunnels: Tunnels;
  readonly #limits: ActivatorLimits;
  readonly #clock: Clock;

  constructor({ places, tunnels, limits, clock }: { places: Places; tunnels: Tunnels; limits: ActivatorLimits; clock: Clock }) {
    this.#places = places;
    this.#tunnels = tunnels;
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Carries a request that was let in to a worker. Rejects with what its client is to be told. */
  async serve(request: IncomingMessage, reply: ServerResponse, target: LbTarget, who: Admitted, upgrade?: ClientSide['upgrade']): Promise<void> {
    const gone = new AbortController();
    const leave = (): void => gone.abort();
    reply.once('close', leave);
    upgrade?.socket.once('close', leave);
    const client: ClientSide = { request, reply, target, gone: gone.signal, upgrade };
    const asked = this.#ask(request, gone.signal);
    const endsAtMs = this.#clock.monotonicMs() + asked.waitMs;
    for (let again = false; ; again = true) {
      const waitMs = Math.max(0, endsAtMs - this.#clock.monotonicMs());
      const place = await this.#places.place(target.endpointId, who, { ...asked, waitMs, again }).catch((error: unknown) => {
        if (gone.signal.aborted) return undefined;
        throw error;
      });
      if (!place) return;
      try {
        if (!this.#places.carries(target.endpointId)) throw needsEdge();
        const socket = await this.#dial(place, gone.signal);
        const outcome = socket && await forward(client, socket, place, this.#limits, this.#clock);
        if (outcome === 'SERVED' || gone.signal.aborted) return;
        if (outcome !== 'AGAIN') this.#places.suspect(target.endpointId, place);
      } finally {
        place.release();
      }
    }
  }

  #dial({ workerId, address, tunnelMachineId }: WorkerPlace, gone: AbortSignal): Promise<Duplex | undefined> {
    return tunnelMachineId === '' ? dial(address, gone) : this.#tunnels.open(tunnelMachineId, workerId, gone);
  }

  #ask({ headers }: IncomingMessage, signal: AbortSignal): PlaceRequest {
    const [, mode, workerId] = /^\s*(?:(strict|strict-resume)\s+)?([\w-]{1,64})\s*$/i.exec(String(headers[WORKER_HEADER] ?? '')) ?? [];
    const strict = mode !== undefined;
    return { workerId, strict, waitMs: strict ? this.#limits.waits.strictMs : this.#limits.holdMs, again: false, signal };
  }
}

/** A socket that a client wants to use for another protocol, and what came behind its request. */
export interface UpgradeSocket {
  socket: Socket;
  head: Buffer;
}
