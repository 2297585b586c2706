/**
 * HTTP state of a worker that serves HTTP: where it listens, the result of its health checks, and whether clients use
 * it.
 */
import type { HttpServer } from '@slipway/proto/gen/slipway/v1/agent_service';
import { HttpHealth } from '@slipway/proto/gen/slipway/v1/machine';
import { LINK_TIMERS } from '@slipway/proto/wire/link-timers';
import type { FreePorts } from './free-ports.ts';

/**
 * Time in milliseconds after a worker left the backends in which requests may still arrive that were on their way, and
 * that core may not know of yet.
 */
const QUIET_MS = 3_000;

export class HttpServing {
  readonly healthPath: string;
  /** The server speaks HTTP/2 without TLS. */
  readonly isH2c: boolean;
  port: number;
  healthPort: number;
  /** host:port for other machines; empty until the worker runs. */
  address = '';
  health: HttpHealth = HttpHealth.UNSPECIFIED;
  /** Why the worker is not ready, for people; empty if it is ready or has only just started. */
  notReady = '';
  /** The server has returned 200 at least once. */
  wasReady = false;
  /** Each connection to the server carries one request only. */
  singleUse = false;
  /** Core reported that no client uses the worker. */
  #idle = false;
  /** When `#idle` begins to count, by the monotonic clock. */
  #idleFromMs = 0;
  /** When the worker was asked to drain, by the monotonic clock. */
  #leftAtMs: number | undefined;
  readonly #drainMs: number;
  readonly #taken: number[] = [];

  /** `drainMs`: longest drain in milliseconds; requests that remain then are cut off. */
  constructor({ port, healthPort, healthPath, h2c }: HttpServer, drainMs: number) {
    this.#drainMs = drainMs;
    this.isH2c = h2c;
    this.port = port;
    this.healthPort = healthPort;
    this.healthPath = healthPath;
  }

  /** Health is checked by gRPC, on the port that the worker serves. */
  get isAskedByGrpc(): boolean {
    return this.isH2c && this.healthPort === this.port;
  }

  /**
   * Records whether the worker must drain, and whether core reports that no client uses it. `connectedAtMs`: since when
   * core is connected, by the monotonic clock; a core that was disconnected does not know all clients yet.
   */
  want(drains: boolean, idle: boolean, nowMs: number, connectedAtMs: number): void {
    this.#idle = idle;
    this.#idleFromMs = connectedAtMs + LINK_TIMERS.drainSettleMs;
    this.#leftAtMs = drains ? (this.#leftAtMs ?? nowMs) : undefined;
  }

  /**
   * Returns whether a drain still waits for clients. A worker that does not drain, or that is not wanted at all, waits
   * for none.
   */
  hasClients(nowMs: number): boolean {
    if (!this.wasReady || this.#leftAtMs === undefined) return false;
    const leftMs = nowMs - this.#leftAtMs;
    const isIdle = this.#idle && nowMs >= this.#idleFromMs;
    return leftMs < QUIET_MS || (!isIdle && leftMs < this.#drainMs);
  }

  /**
   * Reserves free ports. Commands share the host's ports, so the ports in their environment cannot hold for all of
   * them.
   */
  async takePorts(ports: FreePorts): Promise<void> {
    const isShared = this.healthPort === this.port;
    this.#taken.push((this.port = await ports.take()));
    if (isShared) this.healthPort = this.port;
    else this.#taken.push((this.healthPort = await ports.take()));
  }

  /** Releases the worker's ports. */
  givePorts(ports: FreePorts): void {
    for (const port of this.#taken.splice(0)) ports.give(port);
  }

  /** Returns the environment variables with the address on which the worker must listen. */
  variables(): Record<string, string> {
    return { PORT: String(this.port), PORT_HEALTH: String(this.healthPort), HEALTH_CHECK_PATH: this.healthPath };
  }
}
