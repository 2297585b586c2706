/**
 * Requests to load-balancing endpoints: held unread until a worker has room, then carried to it. Tells core what there is to do, once however many
 * wait, and goes on with what it knows while core is away.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { BaseService } from '../../core/runtime/service.ts';
import type { DemandRefusal, EndpointRotation } from '../../proto/gen/slipway/v1/edge_service.ts';
import { CoreError } from '../../proto/wire/reason.ts';
import type { RotationLink } from '../core-client/rotation-link.ts';
import { EndpointQueue } from './endpoint-queue.ts';
import type { PlaceRequest, WorkerPlace } from './endpoint-queue.ts';
import { dial, forward } from './forward.ts';
import type { ClientSide, ForwardLimits } from './forward.ts';
import { WORKER_HEADER } from './lb-headers.ts';
import { needsEdge, tooManyWait } from './lb-error.ts';
import type { LbTarget } from './lb-target.ts';
import type { Tunnels } from './tunnels.ts';

/** What comes together counts in one word to core, in milliseconds. */
const GATHER_MS = 5;
/** Pauses between two words about an endpoint, in milliseconds: when it changed, and at the latest. */
const CHANGED_MS = 1_000;
const REPEAT_MS = 4_000;
/** How long an endpoint that gets no requests is remembered, in milliseconds. */
const REMEMBERED_MS = 60_000;

/** What bounds those that wait. */
export interface WaitBounds {
  /** Requests of an endpoint, of an account, of all. */
  endpointMax: number;
  accountMax: number;
  allMax: number;
  /** How long a client waits for the one worker that it insists on, in milliseconds. */
  strictMs: number;
}

/** As documented (docs/api.md#load-balancing). */
export const WAIT_BOUNDS: WaitBounds = { endpointMax: 1_000, accountMax: 2_000, allMax: 10_000, strictMs: 300_000 };

/** What bounds requests. */
export interface ActivatorLimits extends ForwardLimits {
  /** Longest wait for a worker in milliseconds. */
  holdMs: number;
  waits: WaitBounds;
}

/** Whose request it is. */
export interface Admitted {
  /** Empty: an edge has let it in. */
  apiKey: string;
  accountId: string;
}

interface Endpoint {
  queue: EndpointQueue;
  /** The latest that was let in: core is asked in its name. Empty: in the edges' name, or not at all. */
  apiKey: string;
  usedAtMs: number;
  toldAtMs: number;
  toldWaiting: number;
  changed: boolean;
  gathering: Timer | undefined;
}

export class Activator extends BaseService {
  readonly name = 'activator';
  readonly #link: RotationLink;
  readonly #tunnels: Tunnels;
  readonly #limits: ActivatorLimits;
  readonly #clock: Clock;
  readonly #endpoints = new Map<string, Endpoint>();
  readonly #waiting = new Map<string, number>();
  #waitingInAll = 0;
  #timer: Timer | undefined;

  constructor({ link, tunnels, limits, clock }: { link: RotationLink; tunnels: Tunnels; limits: ActivatorLimits; clock: Clock }) {
    super();
    this.#link = link;
    this.#tunnels = tunnels;
    this.#limits = limits;
    this.#clock = clock;
    link.listen({
      rotation: (rotation) => this.#update(rotation),
      refused: (refusal) => this.#refused(refusal),
      up: () => { for (const id of this.#endpoints.keys()) this.#tell(id); },
    });
  }

  protected override onStart(): void {
    this.#timer = this.#clock.after(CHANGED_MS, () => {
      this.#look();
      this.onStart();
    });
  }

  protected override onStop(): void {
    this.#timer?.cancel();
    for (const { queue, gathering } of this.#endpoints.values()) {
      gathering?.cancel();
      queue.close(new CoreError('UNAVAILABLE', 'The service is stopping.'));
    }
  }

  /** Requests that wait for a worker. */
  get waiting(): number {
    return this.#waitingInAll;
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
      const place = await this.#place(target.endpointId, who, { ...asked, waitMs, again }).catch((error: unknown) => {
        if (gone.signal.aborted) return undefined;
        throw error;
      });
      if (!place) return;
      try {
        if (this.#endpoints.get(target.endpointId)?.queue.isH2c) throw needsEdge();
        const socket = await this.#dial(place, gone.signal);
        const outcome = socket && await forward(client, socket, place, this.#limits, this.#clock);
        if (outcome === 'SERVED' || gone.signal.aborted) return;
        if (outcome !== 'AGAIN') this.#endpoints.get(target.endpointId)?.queue.suspect(place.workerId);
      } finally {
        place.release();
      }
    }
  }

  /**
   * Whether a request may go straight to the endpoint's workers: one of them is ready, they take many at a time, and none waits here whom it would
   * overtake. Asking makes core tell of the endpoint's workers for a while, so the first answer of many is no.
   */
  hasReadyWorker(endpointId: string, { apiKey }: Admitted): boolean {
    const endpoint = this.#endpoint(endpointId);
    endpoint.apiKey = apiKey;
    endpoint.usedAtMs = this.#clock.monotonicMs();
    if (endpoint.toldAtMs === -Infinity) this.#tell(endpointId);
    return endpoint.queue.isDirect;
  }

  /** Whether its workers can be reached from here, as far as is known. */
  carries(endpointId: string): boolean {
    return this.#endpoints.get(endpointId)?.queue.isH2c !== true;
  }

  /** Waits for a worker as a request would that is then carried by an edge. Rejects with what its client is to be told. */
  async awaitReady(endpointId: string, who: Admitted, signal: AbortSignal): Promise<void> {
    const { holdMs: waitMs } = this.#limits;
    (await this.#place(endpointId, who, { workerId: undefined, strict: false, waitMs, again: false, signal })).release();
  }

  #dial({ workerId, address, tunnelMachineId }: WorkerPlace, gone: AbortSignal): Promise<Duplex | undefined> {
    return tunnelMachineId === '' ? dial(address, gone) : this.#tunnels.open(tunnelMachineId, workerId, gone);
  }

  #ask({ headers }: IncomingMessage, signal: AbortSignal): PlaceRequest {
    const [, mode, workerId] = /^\s*(?:(strict|strict-resume)\s+)?([\w-]{1,64})\s*$/i.exec(String(headers[WORKER_HEADER] ?? '')) ?? [];
    const strict = mode !== undefined;
    return { workerId, strict, waitMs: strict ? this.#limits.waits.strictMs : this.#limits.holdMs, again: false, signal };
  }

  async #place(endpointId: string, { apiKey, accountId }: Admitted, asked: PlaceRequest): Promise<WorkerPlace> {
    const endpoint = this.#endpoint(endpointId);
    if (apiKey !== '') endpoint.apiKey = apiKey;
    endpoint.usedAtMs = this.#clock.monotonicMs();
    const free = endpoint.queue.take(asked);
    if (free) return free;
    if (!asked.again) this.#checkRoom(endpoint, accountId);
    this.#count(accountId, 1);
    try {
      return await endpoint.queue.place(asked);
    } finally {
      this.#count(accountId, -1);
    }
  }

  #checkRoom({ queue }: Endpoint, accountId: string): void {
    const { endpointMax, accountMax, allMax } = this.#limits.waits;
    if (queue.waiting >= endpointMax) throw tooManyWait('endpoint');
    if ((this.#waiting.get(accountId) ?? 0) >= accountMax) throw tooManyWait('account');
    if (this.#waitingInAll >= allMax) throw tooManyWait('service');
  }

  #count(accountId: string, by: number): void {
    this.#waitingInAll += by;
    const waiting = (this.#waiting.get(accountId) ?? 0) + by;
    if (waiting > 0) this.#waiting.set(accountId, waiting);
    else this.#waiting.delete(accountId);
  }

  #endpoint(id: string): Endpoint {
    const known = this.#endpoints.get(id);
    if (known) return known;
    const endpoint: Endpoint = {
      queue: new EndpointQueue(this.#clock, () => this.#changed(id)),
      apiKey: '', usedAtMs: 0, toldAtMs: -Infinity, toldWaiting: 0, changed: false, gathering: undefined,
    };
    this.#endpoints.set(id, endpoint);
    return endpoint;
  }

  /** The first that waits is told at once, all else at the next look. */
  #changed(id: string): void {
    const endpoint = this.#endpoints.get(id);
    if (!endpoint) return;
    endpoint.changed = true;
    if (endpoint.gathering || endpoint.queue.waiting === 0 || endpoint.toldWaiting > 0) return;
    endpoint.gathering = this.#clock.after(GATHER_MS, () => {
      endpoint.gathering = undefined;
      this.#tell(id);
    });
  }

  #look(): void {
    const now = this.#clock.monotonicMs();
    for (const [id, { queue, usedAtMs, toldAtMs, changed }] of this.#endpoints) {
      // What is forgotten while core is away nobody could tell again.
      const isUsed = queue.waiting > 0 || queue.loads().length > 0 || !this.#link.isUp;
      if (!isUsed && !changed && now - usedAtMs > REMEMBERED_MS) this.#endpoints.delete(id);
      else if (changed || now - toldAtMs >= REPEAT_MS) this.#tell(id);
    }
  }

  #tell(id: string): void {
    const endpoint = this.#endpoints.get(id);
    if (!endpoint || (endpoint.apiKey === '' && !this.#link.isEdges)) return;
    const { queue, apiKey } = endpoint;
    endpoint.toldAtMs = this.#clock.monotonicMs();
    endpoint.toldWaiting = queue.waiting;
    endpoint.changed = false;
    this.#link.tell({ endpointId: id, apiKey, waiting: queue.waiting, workers: queue.loads() });
  }

  #update(rotation: EndpointRotation): void {
    this.#endpoints.get(rotation.endpointId)?.queue.update(rotation);
  }

  #refused({ endpointId, reason }: DemandRefusal): void {
    const endpoint = this.#endpoints.get(endpointId);
    if (!endpoint) return;
    if (reason === 'ENDPOINT_NOT_FOUND') {
      this.#endpoints.delete(endpointId);
      return endpoint.queue.close(new CoreError('ENDPOINT_NOT_FOUND', 'There is no such endpoint.'));
    }
    // Another request may bring a key that does.
    endpoint.apiKey = '';
    endpoint.changed = true;
  }
}

/** A socket that a client wants to use for another protocol, and what came behind its request. */
export interface UpgradeSocket {
  socket: Socket;
  head: Buffer;
}
