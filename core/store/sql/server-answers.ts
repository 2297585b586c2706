/**
 * The answers of the database server to all connections of a replica: how long to wait for one, whether anything was
 * heard at all, and how lost connections come back. A slow server keeps its connections. Each new one would cost it a
 * process and a login.
 */
import type { Socket } from 'node:net';
import { AnswerLimit } from '@slipway/kit/time/answer-limit';
import type { Random } from '@slipway/kit/time/clock';
import { backgroundClock } from '@slipway/kit/time/clock';

/** Default of the first limit, in milliseconds. */
const ANSWER_MS = 5_000;
/** The limit grows to at most this many times the first one. */
const GROWTH_MAX = 12;
/** A login takes this many answers of the server. */
const LOGIN_ANSWERS = 3;
/**
 * With several hosts in the URL, the time limit of a login grows to at most this many times the first one. A
 * hung host, which accepts connections and sends nothing, must not delay the login to the others.
 */
const SHARED_LOGIN_GROWTH_MAX = 2;
/** Pauses before a reconnection, in seconds: a restarted database is used again within the longest one. */
const RECONNECT = { firstSeconds: 0.05, maxSeconds: 0.5 };
/** Connections that are lost together come back in groups of this size, with a pause in seconds between two groups. */
const GROUP_SIZE = 4;
const GROUP_SECONDS = 0.1;
/** Connections that are lost within this many milliseconds are lost together. */
const TOGETHER_MS = 1_000;

export interface ServerAnswersOptions {
  /** First limit of an answer, in milliseconds. Default ANSWER_MS. */
  databaseAnswerMs?: number | undefined;
  /** Hosts among which the primary is. Default 1. */
  hosts?: number | undefined;
  /** Spreads reconnections. Default: they are not spread. */
  random?: Pick<Random, 'fraction'> | undefined;
}

export class ServerAnswers {
  /** Longest wait for one answer. */
  readonly limit: AnswerLimit;
  /** First limit, in milliseconds. */
  readonly firstMs: number;
  readonly #hosts: number;
  readonly #random: Pick<Random, 'fraction'>;
  readonly #sockets = new Set<Socket>();
  /** Bytes that came on sockets that are closed. */
  #closedBytes = 0;
  /** Bytes that had come at the last growth of the limit. */
  #grownAtBytes = 0;
  /** Connections that were lost together, so far. */
  #lost = 0;

  constructor(options: ServerAnswersOptions = {}) {
    const { databaseAnswerMs: firstMs = ANSWER_MS, hosts = 1, random = { fraction: () => 1 } } = options;
    this.firstMs = firstMs;
    this.#hosts = hosts;
    this.limit = new AnswerLimit({ firstMs, maxMs: GROWTH_MAX * firstMs });
    this.#random = random;
  }

  /**
   * Seconds within which a connection must be open and logged in. The driver multiplies the option at each connection,
   * so it reads a limit that has grown.
   */
  readonly connectSeconds = { valueOf: (): number => this.#connectMs / 1_000 } as unknown as number;

  get #connectMs(): number {
    if (this.limit.factor === 1) return this.firstMs;
    const ms = LOGIN_ANSWERS * this.limit.ms;
    return this.#hosts > 1 ? Math.min(ms, SHARED_LOGIN_GROWTH_MAX * this.firstMs) : ms;
  }

  /** Adds a socket to the server. */
  add(socket: Socket): void {
    for (const known of this.#sockets) {
      if (!known.destroyed) continue;
      this.#closedBytes += known.bytesRead;
      this.#sockets.delete(known);
    }
    this.#sockets.add(socket);
  }

  /** Starts to listen. The result says whether any connection has received something from the server since. */
  listen(): () => boolean {
    const bytes = this.#bytes;
    return () => this.#bytes > bytes;
  }

  /**
   * Records that an answer did not come in time. The limit grows if the server has sent anything since it grew last: a
   * server that is silent altogether is left as soon as ever.
   */
  missed(): void {
    const bytes = this.#bytes;
    if (bytes > this.#grownAtBytes) this.limit.missed();
    this.#grownAtBytes = bytes;
  }

  /** Returns the pause before a connection is opened again, in seconds, after so many failures in a row. */
  reconnectSeconds(failures: number): number {
    if (this.#lost === 0)
      backgroundClock.after(TOGETHER_MS, () => {
        this.#lost = 0;
      });
    const group = Math.floor(this.#lost / GROUP_SIZE);
    this.#lost += 1;
    const { firstSeconds, maxSeconds } = RECONNECT;
    const pause = Math.min(firstSeconds * 2 ** failures, maxSeconds) * (0.5 + this.#random.fraction() / 2);
    return (pause + group * GROUP_SECONDS) * this.limit.factor;
  }

  get #bytes(): number {
    let bytes = this.#closedBytes;
    for (const { bytesRead } of this.#sockets) bytes += bytesRead;
    return bytes;
  }
}
