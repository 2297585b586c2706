/**
 * Which workers of load-balancing endpoints have room for a request, and who waits for one. Tells core what there is to do, once however many wait, and
 * goes on with what it knows while core is away.
 */
import { delay } from '../../core/runtime/clock.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import { BaseService } from '../../core/runtime/service.ts';
import type { DemandRefusal, EndpointRotation } from '../../proto/gen/slipway/v1/edge_service.ts';
import { LINK_TIMERS } from '../../proto/wire/link-timers.ts';
import { CoreError } from '../../proto/wire/reason.ts';
import type { RotationLink } from '../core-client/rotation-link.ts';
import { EndpointQueue } from './endpoint-queue.ts';
import type { PlaceRequest, WorkerPlace } from './endpoint-queue.ts';
import { tooManyWait } from './lb-error.ts';

/** What comes together counts in one word to core, in milliseconds. */
const GATHER_MS = 5;
/** How long core's first word of an endpoint is waited for, in milliseconds. */
const TOLD_MS = 1_000;

/** What bounds those that wait. */
export interface WaitBounds {
  /** Requests of an endpoint, of an account, of all. */
  endpointMax: number;
  accountMax: number;
  allMax: number;
  /** How long a client waits for the one worker that it insists on, in milliseconds. */
  strictMs: number;
}

/** As documented (docs/reference/api.md#load-balancing). */
export const WAIT_BOUNDS: WaitBounds = { endpointMax: 1_000, accountMax: 2_000, allMax: 10_000, strictMs: 300_000 };

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
  /** The one that core was told last, which is the one that it refuses. */
  toldKey: string;
  /** When a request came last, or was last seen to wait or run. */
  usedAtMs: number;
  /** Since when requests wait without a word of core; undefined: they do not. */
  missedSinceMs: number | undefined;
  toldAtMs: number;
  toldWaiting: number;
  changed: boolean;
  gathering: Timer | undefined;
}

export class Places extends BaseService {
  readonly name = 'places';
  readonly #link: RotationLink;
  readonly #waits: WaitBounds;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #endpoints = new Map<string, Endpoint>();
  readonly #waiting = new Map<string, number>();
  #waitingInAll = 0;
  #timer: Timer | undefined;

  constructor({ link, waits, clock, logger }: { link: RotationLink; waits: WaitBounds; clock: Clock; logger: Logger }) {
    super();
    this.#link = link;
    this.#waits = waits;
    this.#clock = clock;
    this.#logger = logger;
    link.listen({
      rotation: (rotation) => this.#update(rotation),
      refused: (refusal) => this.#refused(refusal),
      up: () => { for (const id of this.#endpoints.keys()) this.#tell(id); },
    });
  }

  protected override onStart(): void {
    this.#timer = this.#clock.after(LINK_TIMERS.demandChangedMs, () => {
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
  async awaitReady(endpointId: string, who: Admitted, { waitMs, signal }: Pick<PlaceRequest, 'waitMs' | 'signal'>): Promise<void> {
    (await this.place(endpointId, who, { workerId: undefined, strict: false, waitMs, again: false, signal })).release();
  }

  /** Resolves when core has told of the endpoint's workers, or will not soon. `hasReadyWorker` has asked it to. */
  async told(endpointId: string): Promise<void> {
    const queue = this.#endpoints.get(endpointId)?.queue;
    if (!queue || queue.isTold || !this.#link.isUp) return;
    const over = new AbortController();
    await Promise.race([queue.told, delay(this.#clock, TOLD_MS, over.signal)]);
    over.abort();
  }

  /** Its worker could not be reached, or is full. */
  suspect(endpointId: string, { workerId }: WorkerPlace): void {
    this.#endpoints.get(endpointId)?.queue.suspect(workerId);
  }

  /** A place at a worker, perhaps after a wait. Rejects with what the client is to be told. */
  async place(endpointId: string, { apiKey, accountId }: Admitted, asked: PlaceRequest): Promise<WorkerPlace> {
    const endpoint = this.#endpoint(endpointId);
    if (apiKey !== '') endpoint.apiKey = apiKey;
    endpoint.usedAtMs = this.#clock.monotonicMs();
    const free = endpoint.queue.take(asked);
    if (free) return free;
    if (!asked.again) this.#checkRoom(endpoint, accountId);
    this.#count(accountId, 1);
    try {
      return await endpoint.queue.place({ ...asked, apiKey });
    } finally {
      this.#count(accountId, -1);
    }
  }

  #checkRoom({ queue }: Endpoint, accountId: string): void {
    const { endpointMax, accountMax, allMax } = this.#waits;
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
      apiKey: '', toldKey: '', usedAtMs: 0, missedSinceMs: undefined, toldAtMs: -Infinity, toldWaiting: 0, changed: false, gathering: undefined,
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
    for (const [id, endpoint] of this.#endpoints) {
      const { queue, toldAtMs, changed } = endpoint;
      // Counted from the end of the last request, however long it took.
      if (queue.waiting > 0 || queue.loads().length > 0) endpoint.usedAtMs = now;
      this.#noteMissed(id, endpoint);
      // What is forgotten while core is away nobody could tell again.
      const isRemembered = changed || !this.#link.isUp || now - endpoint.usedAtMs <= LINK_TIMERS.demandRememberedMs;
      if (isRemembered) {
        if (changed || now - toldAtMs >= LINK_TIMERS.demandRepeatMs) this.#tell(id);
      } else if (queue.version !== '' || !queue.isTold || now - toldAtMs > LINK_TIMERS.unversionedKeptMs) {
        // A core without versions sends changes only, until it has forgotten the endpoint itself: until then they must be heard.
        this.#endpoints.delete(id);
      }
    }
  }

  /** A waiting request without a rotation is the sign of a fault somewhere between here and core's database. */
  #noteMissed(endpointId: string, endpoint: Endpoint): void {
    const { queue, missedSinceMs } = endpoint;
    const now = this.#clock.monotonicMs();
    if (queue.isTold || queue.waiting === 0 || !this.#link.isUp) endpoint.missedSinceMs = undefined;
    else if (missedSinceMs === undefined) endpoint.missedSinceMs = now;
    else if (now - missedSinceMs >= LINK_TIMERS.rotationMissedMs) {
      // Said once.
      endpoint.missedSinceMs = Infinity;
      this.#logger.warn({ endpointId, waiting: queue.waiting }, 'requests wait, and core has sent no backends of the endpoint');
    }
  }

  #tell(id: string): void {
    const endpoint = this.#endpoints.get(id);
    if (!endpoint || (endpoint.apiKey === '' && !this.#link.isEdges)) return;
    const { queue, apiKey } = endpoint;
    endpoint.toldAtMs = this.#clock.monotonicMs();
    endpoint.toldWaiting = queue.waiting;
    endpoint.toldKey = apiKey;
    endpoint.changed = false;
    this.#link.tell({ endpointId: id, apiKey, waiting: queue.waiting, workers: queue.loads(), version: queue.version });
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
    const { queue, toldKey } = endpoint;
    // Whoever waits with that key gets no worker in the name of another, an edge's least of all.
    if (reason === 'UNAUTHORIZED' && toldKey !== '') queue.refuse(toldKey);
    // Core tells of its changes no more: what is known grows old. Another request may have a key that does, or bring one.
    queue.forgetRotation();
    const apiKey = endpoint.apiKey === toldKey ? [...queue.keys()].find((key) => key !== toldKey) ?? '' : endpoint.apiKey;
    Object.assign(endpoint, { apiKey, toldAtMs: -Infinity, toldWaiting: 0, changed: false });
    if (toldKey !== '') this.#tell(endpointId);
  }
}
