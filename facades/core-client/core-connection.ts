/**
 * Keeps the connection to one core replica. A connection that was cut silently looks like a slow peer, and keepalive
 * pings take half a minute. So if a caller waits and nothing arrives, the peer is probed on this connection and on a
 * second one. If only the second one answers, it replaces the first, and calls on the first fail.
 */

import type { Client } from '@grpc/grpc-js';
import { status as Code } from '@grpc/grpc-js';
import type { Clock, Timer } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';

/**
 * Silence after which a waiting connection is probed, and longest duration of a probe, in milliseconds. Together they
 * give the 3 to 4 s of the docs.
 */
const SILENCE_MS = 2_000;
const PROBE_MS = 1_500;
/** Unknown method. Any peer answers UNIMPLEMENTED at once, without a key, a database or a body. */
const PROBE_METHOD = '/slipway.v1.Line/Sign';

/** Status codes of failures on the client side. */
const LOCAL_FAILURES: ReadonlySet<number> = new Set([Code.DEADLINE_EXCEEDED, Code.CANCELLED, Code.UNAVAILABLE]);

/** A user of the connection. */
interface ConnectionUser {
  /** Returns whether the user waits for an answer. */
  isWaiting(): boolean;
  /** Called when the connection is dead: calls on it get no answer. */
  onDead(): void;
}

interface ConnectionParts<Service> {
  /** Opens a client with its own channel. */
  open(): Service;
  clock: Clock;
}

export class CoreConnection<Service extends Client> {
  readonly #parts: ConnectionParts<Service>;
  readonly #users = new Set<ConnectionUser>();
  readonly #closed = new AbortController();
  #client: Service | undefined;
  #lastSeenMs = 0;
  #timer: Timer | undefined;
  #isAsking = false;

  constructor(parts: ConnectionParts<Service>) {
    this.#parts = parts;
  }

  /** Returns the current client. Opens it on first use. */
  get client(): Service {
    this.#client ??= this.#parts.open();
    return this.#client;
  }

  /** Registers a user. Call the result to unregister. */
  use(user: ConnectionUser): () => void {
    this.#users.add(user);
    if (user.isWaiting()) this.expectAnswer();
    return () => {
      this.#users.delete(user);
      if (this.#users.size === 0) this.#rest();
    };
  }

  /** Starts watching for silence. */
  expectAnswer(): void {
    if (this.#timer || this.#isAsking || this.#closed.signal.aborted) return;
    this.#lastSeenMs = Math.max(this.#lastSeenMs, this.#parts.clock.monotonicMs());
    this.#later(SILENCE_MS);
  }

  /** Records that the peer sent something. */
  markSeen(): void {
    this.#lastSeenMs = this.#parts.clock.monotonicMs();
  }

  /** Closes the client. Callers end their own calls. */
  close(): void {
    this.#closed.abort();
    this.#rest();
    this.#client?.close();
    this.#client = undefined;
  }

  #later(ms: number): void {
    this.#timer = this.#parts.clock.after(ms, () => {
      this.#timer = undefined;
      this.#checkSilence();
    });
  }

  #rest(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #checkSilence(): void {
    if (![...this.#users].some((user) => user.isWaiting())) return;
    const silentMs = this.#parts.clock.monotonicMs() - this.#lastSeenMs;
    if (silentMs < SILENCE_MS) this.#later(SILENCE_MS - silentMs);
    else void this.#ask(this.client);
  }

  async #ask(client: Service): Promise<void> {
    this.#isAsking = true;
    const lastSeenMs = this.#lastSeenMs;
    const isSilent = (): boolean => this.#lastSeenMs === lastSeenMs && !this.#closed.signal.aborted;
    const forget = probe(client, () => this.markSeen());
    await delay(this.#parts.clock, PROBE_MS, this.#closed.signal);
    const other = isSilent() ? this.#parts.open() : undefined;
    const isReached = other !== undefined && (await this.#signOfOther(other));
    forget();
    this.#isAsking = false;
    // Data that arrived while this process was paused has been read before the other connection's answer.
    if (isReached && isSilent()) this.#take(other);
    else other?.close();
    if (this.#users.size > 0 && !this.#closed.signal.aborted) this.#later(SILENCE_MS);
  }

  async #signOfOther(client: Service): Promise<boolean> {
    const over = new AbortController();
    let isReached = false;
    const forget = probe(client, () => {
      isReached = true;
      over.abort();
    });
    await delay(this.#parts.clock, PROBE_MS, AbortSignal.any([over.signal, this.#closed.signal]));
    forget();
    return isReached;
  }

  #take(client: Service): void {
    const before = this.#client;
    this.#client = client;
    this.markSeen();
    before?.close();
    for (const user of [...this.#users]) user.onDead();
  }
}

/** Returns whether a result or failure came from the peer. */
export function isAnswer(error: { code: number } | null): boolean {
  return !error || !LOCAL_FAILURES.has(error.code);
}

/** Probes the peer. Call the result to cancel. */
function probe(client: Client, onSign: () => void): () => void {
  const asIs = (bytes: Buffer): Buffer => bytes;
  const call = client.makeClientStreamRequest(PROBE_METHOD, asIs, asIs, (error) => {
    if (isAnswer(error)) onSign();
  });
  return () => call.cancel();
}
