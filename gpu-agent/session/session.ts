/**
 * The whole life of one connection: hello, welcome, then messages both ways until anything fails. A reconnect is a new
 * session.
 */

import type { ClientDuplexStream, ServiceError } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import { BatchingStream } from '@slipway/kit/net/batching-stream';
import type { AnswerLimit } from '@slipway/kit/time/answer-limit';
import type { Clock, Timer } from '@slipway/kit/time/clock';
import type { Hello, SessionResponse } from '@slipway/proto/gen/slipway/v1/agent_service';
import { SessionRequest } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { Lease } from './lease.ts';
import type { Outbox, Reports } from './outbox.ts';

/**
 * Longest wait for core's welcome, in milliseconds. It grows with each core that does not answer in time: a new session
 * costs a slow core several statements, and nothing of the last one is left.
 */
export const WELCOME_MS = { firstMs: 5_000, maxMs: 40_000 };
/**
 * Number of periods with unanswered heartbeats after which the session ends: the connection is dead, even if it looks
 * open. It grows with the wait for a welcome.
 */
const PERIODS_SILENT_MAX = 4;

/** Dependencies of a session. */
interface SessionOptions {
  stream: ClientDuplexStream<SessionRequest, SessionResponse>;
  outbox: Outbox;
  reports: Reports;
  lease: Lease;
  /** Longest wait for core's answers; outlives the session. */
  limit: AnswerLimit;
  clock: Clock;
  /** Complete state at the start of the session. */
  hello: Hello;
  /** Called when core has welcomed the agent: everything that was not acknowledged is sent again. */
  onWelcome(): void;
  /** Called for the welcome and every later message. */
  onMessage(message: SessionResponse): void;
}

/** End of a session. */
export interface SessionEnd {
  reason: string;
  /** Status of the stream if it failed. */
  code: status | undefined;
  /** Core had welcomed the agent. */
  welcomed: boolean;
}

export class Session {
  readonly #options: SessionOptions;
  #sequence = 0;
  #welcomed = false;
  readonly #sending: BatchingStream<SessionRequest>;
  #first: SessionRequest | undefined;
  #ended: SessionEnd | undefined;
  /** Text of core's last message about the end. */
  #endReason = 'core ended the session';
  #answeredAtMs = 0;
  #periodMs = 0;
  #timer: Timer | undefined;
  #resolveEnd: ((end: SessionEnd) => void) | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
    const onLeft = (): void => {
      if (!this.#ended) options.outbox.left();
    };
    this.#sending = new BatchingStream({
      sink: options.stream,
      clock: options.clock,
      take: () => this.#take(),
      onLeft,
    });
  }

  /** Runs the session to its end. Never rejects. */
  run(): Promise<SessionEnd> {
    const { stream, outbox, reports, lease, limit, clock, hello } = this.#options;
    return new Promise((resolve) => {
      this.#resolveEnd = resolve;
      stream.on('data', (message: SessionResponse) => this.#receive(message));
      stream.on('error', ({ code, details, message }: ServiceError) =>
        this.end(`${status[code] ?? 'failed'}: ${details || message}`, code),
      );
      stream.on('end', () => this.end(this.#endReason));
      this.#timer = clock.after(limit.ms, () => this.#endSilent('core did not welcome the agent in time'));
      lease.beginSession();
      outbox.beginSession();
      outbox.onWaiting = () => this.#sending.wake();
      this.#first = SessionRequest.create({ hello, heartbeat: { sequence: this.#beat() }, models: reports.models() });
      this.#sending.wake();
    });
  }

  /** Ends the session. Idempotent. */
  end(reason: string, code?: status): void {
    if (this.#ended) return;
    this.#ended = { reason, code, welcomed: this.#welcomed };
    this.#timer?.cancel();
    this.#options.outbox.onWaiting = undefined;
    this.#sending.stop();
    this.#options.stream.cancel();
    this.#resolveEnd?.(this.#ended);
  }

  #endSilent(reason: string): void {
    this.#options.limit.missed();
    this.end(reason);
  }

  #receive(message: SessionResponse): void {
    if (this.#ended) return;
    if (message.end) this.#endReason = message.end.text;
    if (message.welcome) this.#welcome(message.welcome.heartbeatPeriodMs, message.welcome.leaseMs);
    else if (!this.#welcomed && !message.end) return this.end('core sent something else before its welcome');
    if (message.heartbeat) {
      this.#answeredAtMs = this.#options.clock.monotonicMs();
      const tookMs = this.#options.lease.answered(message.heartbeat.sequence);
      if (tookMs !== undefined) this.#options.limit.answered(tookMs);
    }
    this.#options.onMessage(message);
  }

  #welcome(periodMs: number, leaseMs: number): void {
    const { lease, clock, outbox, onWelcome } = this.#options;
    this.#timer?.cancel();
    this.#welcomed = true;
    this.#periodMs = periodMs;
    this.#answeredAtMs = clock.monotonicMs();
    lease.setLength(leaseMs);
    // Attempts may come before the first answer. A lease that still runs is only extended by an answer.
    if (lease.expiresAtMs === undefined) lease.answered(1);
    outbox.beginResend();
    onWelcome();
    this.#tick();
  }

  #beat(): number {
    this.#sequence += 1;
    this.#options.lease.sent(this.#sequence);
    return this.#sequence;
  }

  #tick(): void {
    const { clock, limit, outbox } = this.#options;
    if (this.#ended) return;
    if (clock.monotonicMs() - this.#answeredAtMs > PERIODS_SILENT_MAX * this.#periodMs * limit.factor)
      return this.#endSilent('core stopped answering');
    outbox.addHeartbeat(this.#beat());
    this.#timer = clock.after(this.#periodMs, () => this.#tick());
  }

  /** Returns the hello first; after the welcome, the next message of the outbox. */
  #take(): SessionRequest | undefined {
    const first = this.#first;
    this.#first = undefined;
    const { outbox, reports } = this.#options;
    return first ?? (this.#welcomed ? outbox.take(reports) : undefined);
  }
}
