/**
 * The connection to one replica of core under one client. A connection that was cut silently (a host without power, a firewall that forgot it) looks like
 * one whose peer thinks: gRPC's own pings notice it after half a minute. So while somebody waits for an answer and nothing comes, the peer is asked for a
 * sign of life, there and by a second connection. When only the second brings one, it takes the first one's place, and what was under way on that is over.
 * A peer that is busy, or a process that stood still, keeps its connection: then neither brings one, or the first does.
 */
import { status as Code } from '@grpc/grpc-js';
import type { Client } from '@grpc/grpc-js';
import { delay } from '../../core/runtime/clock.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';

/** Silence, while somebody waits, after which a sign of life is asked for; and how long that may take, in milliseconds. Both make up the 3 to 4 s of docs. */
const SILENCE_MS = 2_000;
const PROBE_MS = 1_500;
/**
 * No service has it, so whoever is there says that at once: without a key, a database, or a word of the body, which a peer that reads no more of another
 * stream could not take.
 */
const PROBE_METHOD = '/slipway.v1.Line/Sign';

/** Codes by which a client fails a call by itself. */
const LOCAL_FAILURES: ReadonlySet<number> = new Set([Code.DEADLINE_EXCEEDED, Code.CANCELLED, Code.UNAVAILABLE]);

/** Who uses a line. */
export interface ConnectionUser {
  /** It waits for an answer. */
  isWaiting(): boolean;
  /** The connection is gone: nothing that was sent on it is answered any more. */
  onDead(): void;
}

/** What it needs. */
export interface ConnectionParts<Service> {
  /** Makes a client with a channel of its own. */
  open(): Service;
  clock: Clock;
}

export class CoreConnection<Service extends Client> {
  readonly #parts: ConnectionParts<Service>;
  readonly #users = new Set<ConnectionUser>();
  readonly #closed = new AbortController();
  #client: Service | undefined;
  #heardAtMs = 0;
  #timer: Timer | undefined;
  #isAsking = false;

  constructor(parts: ConnectionParts<Service>) {
    this.#parts = parts;
  }

  /** The present client; the first look opens it. */
  get client(): Service {
    this.#client ??= this.#parts.open();
    return this.#client;
  }

  /** Tells a user when the connection dies, until the result is called. */
  use(user: ConnectionUser): () => void {
    this.#users.add(user);
    if (user.isWaiting()) this.expectAnswer();
    return () => {
      this.#users.delete(user);
      if (this.#users.size === 0) this.#rest();
    };
  }

  /** An answer is waited for from now on. */
  expectAnswer(): void {
    if (this.#timer || this.#isAsking || this.#closed.signal.aborted) return;
    this.#heardAtMs = Math.max(this.#heardAtMs, this.#parts.clock.monotonicMs());
    this.#later(SILENCE_MS);
  }

  /** Something came. */
  markSeen(): void {
    this.#heardAtMs = this.#parts.clock.monotonicMs();
  }

  /** Ends it and its client. Calls on it are their callers' to end. */
  close(): void {
    this.#closed.abort();
    this.#rest();
    this.#client?.close();
    this.#client = undefined;
  }

  #later(ms: number): void {
    this.#timer = this.#parts.clock.after(ms, () => {
      this.#timer = undefined;
      this.#look();
    });
  }

  #rest(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #look(): void {
    if (![...this.#users].some((user) => user.isWaiting())) return;
    const silentMs = this.#parts.clock.monotonicMs() - this.#heardAtMs;
    if (silentMs < SILENCE_MS) this.#later(SILENCE_MS - silentMs);
    else void this.#ask(this.client);
  }

  async #ask(client: Service): Promise<void> {
    this.#isAsking = true;
    const heardAtMs = this.#heardAtMs;
    const isSilent = (): boolean => this.#heardAtMs === heardAtMs && !this.#closed.signal.aborted;
    const forget = probe(client, () => this.markSeen());
    await delay(this.#parts.clock, PROBE_MS, this.#closed.signal);
    const other = isSilent() ? this.#parts.open() : undefined;
    const isReached = other !== undefined && await this.#signOfOther(other);
    forget();
    this.#isAsking = false;
    // What came while this process stood still was read before the other's sign was.
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

/** Whether a result, or a failure, is one that the peer has told. */
export function isAnswer(error: { code: number } | null): boolean {
  return !error || !LOCAL_FAILURES.has(error.code);
}

/** Asks for a sign of life; the result forgets the question. */
function probe(client: Client, onSign: () => void): () => void {
  const asIs = (bytes: Buffer): Buffer => bytes;
  const call = client.makeClientStreamRequest(PROBE_METHOD, asIs, asIs, (error) => {
    if (isAnswer(error)) onSign();
  });
  return () => call.cancel();
}
