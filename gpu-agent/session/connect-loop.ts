/**
 * Keeps the agent in a session: connects, runs the session to its end, pauses a little longer after each failure, and
 * tries the next address. While core is away, or rejects this agent, this is logged once and then once a minute.
 */
import { status } from '@grpc/grpc-js';
import type { Service } from '@slipway/kit/lifecycle/service';
import { BaseService } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Transport } from '@slipway/kit/net/channel';
import { explainConnection } from '@slipway/kit/net/tls';
import type { TlsSource } from '@slipway/kit/net/tls-source';
import { AnswerLimit } from '@slipway/kit/time/answer-limit';
import { backoffMs } from '@slipway/kit/time/backoff';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import type { Hello, SessionResponse } from '@slipway/proto/gen/slipway/v1/agent_service';
import { CoreLink } from './core-link.ts';
import type { Lease } from './lease.ts';
import type { Outbox, Reports } from './outbox.ts';
import type { SessionEnd } from './session.ts';
import { Session, WELCOME_MS } from './session.ts';

/** Pauses between tries. They are short, because jobs wait for this machine. */
const PAUSE = { firstMs: 100, maxMs: 1_000 };
/** Number of tries after which the lease is over: nothing is lost by coming some seconds later. */
const QUICK_TRIES = 15;
const LATE_PAUSE = { firstMs: 1_000, maxMs: 5_000 };
/** Pauses while core rejects this agent, until an operator acts. */
const REJECTED_PAUSE = { firstMs: 500, maxMs: 30_000 };
const REJECTIONS: ReadonlySet<status | undefined> = new Set([
  status.UNAUTHENTICATED,
  status.FAILED_PRECONDITION,
  status.INVALID_ARGUMENT,
]);
/** Interval at which a lasting failure is logged, in milliseconds. */
const WARN_PERIOD_MS = 60_000;

/** Dependencies of the loop. */
export interface ConnectOptions {
  /** Addresses of core replicas, at least one. The array may change. */
  addresses: readonly string[];
  /** Updates the addresses while the loop runs. Absent: they do not change. */
  list?: Service;
  /** Returns the key for the next session. */
  key(): string;
  /** TLS settings for addresses that use it. */
  tls?: TlsSource | undefined;
  outbox: Outbox;
  reports: Reports;
  lease: Lease;
  transport: Transport;
  clock: Clock;
  random: Random;
  logger: Logger;
  hello(): Hello;
  /** Called when a session is up; `link` is valid until the next call. */
  onUp(link: CoreLink): void;
  /** Called when the session is over. */
  onDown(): void;
  onMessage(message: SessionResponse): void;
  /** Called when core rejects the key before any session was open. Such a key is never accepted later. */
  onKeyRejected?(address: string, reason: string): void;
}

export class ConnectLoop extends BaseService {
  readonly name = 'session';
  readonly #options: ConnectOptions;
  #connecting: Promise<void> = Promise.resolve();
  #session: Session | undefined;
  readonly #limit = new AnswerLimit(WELCOME_MS);
  #failures = 0;
  #wasWelcomed = false;
  /** Consecutive failures in which core rejected this agent. */
  #rejections = 0;
  #lastWarning: { code: status | undefined; atMs: number } | undefined;
  #addressIndex: number;

  constructor(options: ConnectOptions) {
    super();
    this.#options = options;
    // Agents that start together must not all connect to the first replica.
    this.#addressIndex = Math.floor(options.random.fraction() * options.addresses.length);
  }

  /** Begins to connect. Does not wait for the connection: core may come later. */
  protected override onStart(): void {
    void this.#options.list?.start();
    this.#connecting = this.#run();
  }

  protected override async onStop(): Promise<void> {
    this.#session?.end('the agent stops');
    await this.#connecting;
    await this.#options.list?.stop();
  }

  /**
   * Ends the session, if there is one. The hello of the next one describes the machine as it is then. Attempts stay.
   */
  renew(reason: string): void {
    this.#session?.end(reason);
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    while (!this.ending.aborted) {
      await this.#once();
      if (this.ending.aborted) return;
      this.#addressIndex += 1;
      await delay(clock, this.#pauseMs(), this.ending);
    }
  }

  #pauseMs(): number {
    const { random } = this.#options;
    if (this.#rejections > 0) return backoffMs(this.#rejections, REJECTED_PAUSE, random);
    return reconnectMs(this.#failures, random);
  }

  async #once(): Promise<void> {
    const address = this.#address();
    const link = this.#open(address);
    if (!link) return;
    const { outbox, reports, lease, clock, logger, hello, onUp, onDown, onMessage } = this.#options;
    this.#session = new Session({
      stream: link.openSession(),
      outbox,
      reports,
      lease,
      limit: this.#limit,
      clock,
      hello: hello(),
      onWelcome: () => {
        logger.info(this.#failures > 1 ? { address, tries: this.#failures } : { address }, 'session opened');
        this.#failures = 0;
        this.#wasWelcomed = true;
        this.#lastWarning = undefined;
        onUp(link);
      },
      onMessage,
    });
    const end = await this.#session.run();
    this.#session = undefined;
    if (end.welcomed) onDown();
    link.close();
    this.#failed(address, end);
  }

  #address(): string {
    const { addresses } = this.#options;
    return addresses[this.#addressIndex % addresses.length]!;
  }

  /** Opens a link; `undefined` if the TLS files cannot be used. They may be in the middle of being written. */
  #open(address: string): CoreLink | undefined {
    const { key, tls, transport } = this.#options;
    try {
      return new CoreLink({ address, key: key(), tls, transport });
    } catch (error) {
      this.#failed(address, { reason: (error as Error).message, code: undefined, welcomed: false });
      return undefined;
    }
  }

  #failed(address: string, end: SessionEnd): void {
    this.#failures += 1;
    this.#rejections = REJECTIONS.has(end.code) ? this.#rejections + 1 : 0;
    if (this.ending.aborted) return;
    this.#logEnd(address, end);
    if (end.code === status.UNAUTHENTICATED && !this.#wasWelcomed)
      this.#options.onKeyRejected?.(address, end.reason.replace(/^(16 )?UNAUTHENTICATED: /, ''));
  }

  #logEnd(address: string, { reason: said, code, welcomed }: SessionEnd): void {
    const { clock, logger } = this.#options;
    const meaning = code === status.UNAVAILABLE ? explainConnection(said, address) : undefined;
    const reason = meaning === undefined ? said : `${meaning} (${said.replace(/\s+/g, ' ').trim()})`;
    const atMs = clock.monotonicMs();
    if (welcomed) {
      logger.warn({ address, reason }, 'session ended');
      return;
    }
    if (this.#lastWarning && this.#lastWarning.code === code && atMs - this.#lastWarning.atMs < WARN_PERIOD_MS) return;
    this.#lastWarning = { code, atMs };
    logger.warn(
      { address, reason, failures: this.#failures },
      REJECTIONS.has(code) ? 'core rejects this agent, will try again' : 'no session, will try again',
    );
  }
}

/**
 * Returns the pause before the next try after so many consecutive failures, in milliseconds. It is spread, so that a
 * thousand agents do not come back together.
 */
export function reconnectMs(failures: number, random: Random): number {
  return failures <= QUICK_TRIES
    ? backoffMs(failures, PAUSE, random)
    : backoffMs(failures - QUICK_TRIES, LATE_PAUSE, random);
}
