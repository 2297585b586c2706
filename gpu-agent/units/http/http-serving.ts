/**
 * What a worker that serves HTTP is besides a worker: where it listens, what its health path says, and whether clients
 * are with it.
 */
import type { HttpServer } from '@slipway/proto/gen/slipway/v1/agent_service';
import { HttpHealth } from '@slipway/proto/gen/slipway/v1/machine';
import { LINK_TIMERS } from '@slipway/proto/wire/link-timers';
import type { FreePorts } from './free-ports.ts';

/**
 * After it has left the rotation a request may still come that was on its way, and core may not have heard of it yet,
 * in milliseconds.
 */
const QUIET_MS = 3_000;

export class HttpServing {
  readonly healthPath: string;
  /** It speaks HTTP/2 without TLS. */
  readonly isH2c: boolean;
  port: number;
  healthPort: number;
  /** host:port for others; empty until it runs. */
  address = '';
  health: HttpHealth = HttpHealth.UNSPECIFIED;
  /** Why it is not ready, for people; empty: it is, or only just starts. */
  notReady = '';
  /** It has answered 200 once. */
  wasReady = false;
  /** Each connection to it is for one request. */
  singleUse = false;
  /** Core says that no client is with it. */
  #idle = false;
  /** From when on that counts, by the steady clock. */
  #idleFromMs = 0;
  /** When it was told to drain, by the steady clock. */
  #leftAtMs: number | undefined;
  readonly #drainMs: number;
  readonly #taken: number[] = [];

  /** `drainMs`: longest drain in milliseconds; what is left then is cut. */
  constructor({ port, healthPort, healthPath, h2c }: HttpServer, drainMs: number) {
    this.#drainMs = drainMs;
    this.isH2c = h2c;
    this.port = port;
    this.healthPort = healthPort;
    this.healthPath = healthPath;
  }

  /** Its health is asked for by gRPC, on the port that it serves. */
  get isAskedByGrpc(): boolean {
    return this.isH2c && this.healthPort === this.port;
  }

  /**
   * Whether it shall drain, and whether core says that no client is with it. `connectedAtMs`: since when core can be
   * heard, by the steady clock; one that was away has not heard of all clients yet.
   */
  want(drains: boolean, idle: boolean, nowMs: number, connectedAtMs: number): void {
    this.#idle = idle;
    this.#idleFromMs = connectedAtMs + LINK_TIMERS.drainSettleMs;
    this.#leftAtMs = drains ? (this.#leftAtMs ?? nowMs) : undefined;
  }

  /** A drain waits for its clients. One that is not wanted at all waits for nothing. */
  hasClients(nowMs: number): boolean {
    if (!this.wasReady || this.#leftAtMs === undefined) return false;
    const leftMs = nowMs - this.#leftAtMs;
    const isIdle = this.#idle && nowMs >= this.#idleFromMs;
    return leftMs < QUIET_MS || (!isIdle && leftMs < this.#drainMs);
  }

  /** Commands share the host's ports: what their environment says of ports cannot hold for all of them. */
  async takePorts(ports: FreePorts): Promise<void> {
    const isShared = this.healthPort === this.port;
    this.#taken.push((this.port = await ports.take()));
    if (isShared) this.healthPort = this.port;
    else this.#taken.push((this.healthPort = await ports.take()));
  }

  /** It uses them no more. */
  givePorts(ports: FreePorts): void {
    for (const port of this.#taken.splice(0)) ports.give(port);
  }

  /** Variables that tell it where to listen. */
  variables(): Record<string, string> {
    return { PORT: String(this.port), PORT_HEALTH: String(this.healthPort), HEALTH_CHECK_PATH: this.healthPath };
  }
}
