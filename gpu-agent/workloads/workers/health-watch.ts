/**
 * Checks the health of the workers that serve HTTP: often while they start, so that the first request does not wait
 * longer than it must, and once a second while they are healthy. A 200 adds a worker to the backends. Any other status,
 * or three checks in a row without a response, removes it. A worker that returns neither 200 nor 204 for 8 minutes is
 * ended: it listens elsewhere, or never will.
 */

import { TUNNEL_ADDRESS } from '@slipway/kit/net/tunnel';
import type { Clock, Timer } from '@slipway/kit/time/clock';
import { HttpHealth, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { askGrpcHealth } from '../http/ask-grpc-health.ts';
import type { HealthAnswer } from '../http/ask-health.ts';
import { askHealth } from '../http/ask-health.ts';
import type { FreePorts } from '../http/free-ports.ts';
import { notReadyText, probeName, silentText } from '../http/health-words.ts';
import type { HttpServing } from '../http/http-serving.ts';
import { Relay } from '../http/relay.ts';
import { isSingleUse } from '../http/single-use.ts';
import type { Worker } from './worker.ts';
import type { WorkerPool } from './worker-pool.ts';

/**
 * Pauses between two checks, in milliseconds: while the worker starts, when its start takes long, while it is healthy,
 * and while it is not.
 */
const STARTING_MS = 50;
const STARTING_SLOWLY_MS = 250;
const SLOWLY_AFTER_MS = 30_000;
const WELL_MS = 1_000;
const UNWELL_MS = 250;
const MISSES_MAX = 3;
/** Longest time for which a worker may report that it initializes, in milliseconds. */
const INITIALIZING_MS_MAX = 3_600_000;

/** Options of HealthWatch. */
interface HealthWatchOptions {
  pool: WorkerPool;
  /**
   * Host by which other machines reach this machine's workers; containers are reached through a port of the host.
   * Empty: the address that the executor reports.
   */
  advertiseHost: string;
  /** Other machines reach the workers through tunnels only. */
  tunnels: boolean;
  ports: FreePorts;
  /** How long a worker may return neither 200 nor 204, in milliseconds. */
  silenceMs: number;
  clock: Clock;
}

interface Watched {
  worker: Worker;
  http: HttpServing;
  startedAtMs: number;
  /** When it last returned 200 or 204, or was started. */
  lastSeenMs: number;
  misses: number;
  /** The last result, and since when it has been the same. */
  answer: HealthAnswer;
  sameSinceMs: number;
  relay: Relay | undefined;
  timer: Timer | undefined;
}

export class HealthWatch {
  readonly #options: HealthWatchOptions;
  readonly #watched = new Map<string, Watched>();

  constructor(options: HealthWatchOptions) {
    this.#options = options;
  }

  /** Starts to watch a worker that serves HTTP, when it appears or changes its state. */
  changed(worker: Worker): void {
    if (worker.http && !worker.hasEnded && !this.#watched.has(worker.id)) this.#begin(worker, worker.http);
  }

  /** Stops watching a worker whose process has ended. */
  ended(worker: Worker): void {
    const watched = this.#watched.get(worker.id);
    watched?.timer?.cancel();
    watched?.relay?.close();
    this.#watched.delete(worker.id);
  }

  #begin(worker: Worker, http: HttpServing): void {
    const now = this.#options.clock.monotonicMs();
    const watched: Watched = {
      worker,
      http,
      startedAtMs: now,
      lastSeenMs: now,
      misses: 0,
      answer: 'REFUSED',
      sameSinceMs: now,
      relay: undefined,
      timer: undefined,
    };
    this.#watched.set(worker.id, watched);
    this.#later(watched);
  }

  #later(watched: Watched): void {
    const { clock } = this.#options;
    if (this.#watched.get(watched.worker.id) !== watched) return;
    watched.timer = clock.after(this.#pauseMs(watched), () => {
      void this.#ask(watched).finally(() => this.#later(watched));
    });
  }

  #pauseMs({ startedAtMs, http, misses }: Watched): number {
    if (http.health === HttpHealth.READY) return misses === 0 ? WELL_MS : UNWELL_MS;
    if (http.wasReady) return UNWELL_MS;
    const { clock } = this.#options;
    return clock.monotonicMs() - startedAtMs < SLOWLY_AFTER_MS ? STARTING_MS : STARTING_SLOWLY_MS;
  }

  /** Checks one worker. Never rejects. */
  async #ask(watched: Watched): Promise<void> {
    const { worker, http } = watched;
    // A worker's ports are unknown until it is started. A container's address is known a moment later (empty until
    // then). A worker that stops is not checked.
    const { address } = worker;
    if (address === undefined || address === '' || worker.isStopping) return;
    if (http.address === '' && !(await this.#started(watched, address))) return;
    const asked = { host: address, port: http.healthPort, path: http.healthPath };
    const { clock } = this.#options;
    const answer = await (http.isAskedByGrpc ? askGrpcHealth(asked, clock) : askHealth(asked, clock));
    if (worker.hasEnded || worker.isStopping) return;
    const now = clock.monotonicMs();
    watched.misses = typeof answer === 'number' ? 0 : watched.misses + 1;
    if (answer === 200 || answer === 204) watched.lastSeenMs = now;
    if (answer !== watched.answer) Object.assign(watched, { answer, sameSinceMs: now });
    this.#note(watched, healthOf(watched));
    this.#endSilent(watched);
  }

  /**
   * Begins to measure times and publishes the worker's address. The time before, for instance the pull of an image,
   * does not count. Returns false if other machines cannot reach the worker yet.
   */
  async #started(watched: Watched, address: string): Promise<boolean> {
    const { worker, http } = watched;
    const { advertiseHost, tunnels, clock, ports } = this.#options;
    const isElsewhere = !tunnels && advertiseHost !== '' && worker.spec.imageName !== '';
    if (isElsewhere) {
      const relay = await Relay.open({ host: address, port: http.port }, ports).catch(() => undefined);
      // If the worker has ended, nothing else would close the relay.
      const isOver = worker.hasEnded || this.#watched.get(worker.id) !== watched;
      if (isOver) relay?.close();
      if (!relay || isOver) return false;
      watched.relay = relay;
    }
    watched.startedAtMs = watched.lastSeenMs = watched.sameSinceMs = clock.monotonicMs();
    const host = advertiseHost || address;
    http.address = tunnels
      ? TUNNEL_ADDRESS
      : `${host.includes(':') ? `[${host}]` : host}:${watched.relay?.port ?? http.port}`;
    http.health = HttpHealth.INITIALIZING;
    worker.notifyChanged();
    return true;
  }

  #note({ worker, http, answer, sameSinceMs }: Watched, health: HttpHealth): void {
    const previous = http.notReady;
    // A late response does not remove a healthy worker from the backends, and needs no text.
    http.notReady =
      health === HttpHealth.READY ? '' : notReadyText(http, answer, this.#options.clock.monotonicMs() - sameSinceMs);
    if (health === http.health) return http.notReady === previous ? undefined : worker.notifyChanged();
    http.health = health;
    if (health === HttpHealth.READY && !http.wasReady) void this.#watchConnection(worker, http);
    if (health === HttpHealth.READY) http.wasReady = true;
    if (health === HttpHealth.READY && worker.state === WorkerState.INITIALIZING) worker.ready();
    else worker.notifyChanged();
  }

  /** Finds out how the server treats connections, when it first becomes ready. Never rejects. */
  async #watchConnection(worker: Worker, http: HttpServing): Promise<void> {
    const { address } = worker;
    // An HTTP/2 server that ends a connection names the requests that it has not begun to read, so they can be sent
    // again.
    if (address === undefined || http.isH2c) return;
    if (
      !(await isSingleUse({ host: address, port: http.port, path: http.healthPath }, this.#options.clock)) ||
      worker.hasEnded
    )
      return;
    http.singleUse = true;
    worker.notifyChanged();
  }

  #endSilent({ worker, http, startedAtMs, lastSeenMs, answer }: Watched): void {
    const { clock, silenceMs, pool } = this.#options;
    const now = clock.monotonicMs();
    const isTooSlow = !http.wasReady && now - startedAtMs > INITIALIZING_MS_MAX;
    if (now - lastSeenMs <= silenceMs && !isTooSlow) return;
    const reason = isTooSlow
      ? `${probeName(http)} on port ${http.healthPort} has answered 204 (initializing) for ` +
        `${INITIALIZING_MS_MAX / 60_000} min.`
      : silentText(http, answer, silenceMs);
    pool.terminate(worker, { state: WorkerState.UNHEALTHY, reason });
  }
}

function healthOf({ http, misses, answer }: Watched): HttpHealth {
  if (answer === 200) return HttpHealth.READY;
  if (answer === 204) return HttpHealth.INITIALIZING;
  if (typeof answer === 'number') return HttpHealth.UNHEALTHY;
  return misses >= MISSES_MAX && http.wasReady ? HttpHealth.UNHEALTHY : http.health;
}
