/** Keeps the agent in a session: connects, runs it to its end, pauses a little longer after each failure, tries the next address. */
import type { Hello, SessionResponse } from '../../proto/gen/slipway/v1/agent_service.ts';
import { backoffMs } from '../../core/runtime/backoff.ts';
import { delay } from '../../core/runtime/clock.ts';
import type { Clock, Random } from '../../core/runtime/clock.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Service } from '../../core/runtime/service.ts';
import { CoreLink } from './core-link.ts';
import type { Lease } from './lease.ts';
import type { Outbox } from './outbox.ts';
import { Session } from './session.ts';

/** Pauses between tries: short, because jobs wait for this machine. */
const PAUSE = { firstMs: 100, maxMs: 1_000 };

/** What the loop works with. */
export interface ConnectOptions {
  /** Addresses of core replicas, at least one. */
  addresses: readonly string[];
  key: string;
  outbox: Outbox;
  lease: Lease;
  clock: Clock;
  random: Random;
  logger: Logger;
  hello(): Hello;
  /** A session is up; `link` is good until the next call. */
  onUp(link: CoreLink): void;
  /** The session is over. */
  onDown(): void;
  onMessage(message: SessionResponse): void;
}

/** See the file's first line. */
export class ConnectLoop implements Service {
  readonly name = 'session';
  readonly #options: ConnectOptions;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #session: Session | undefined;
  #failures = 0;
  #turn: number;

  constructor(options: ConnectOptions) {
    this.#options = options;
    // Many agents that start together should not all meet the first replica.
    this.#turn = Math.floor(options.random.fraction() * options.addresses.length);
  }

  /** Begins to connect; being connected is not waited for, core may come later. */
  async start(): Promise<void> {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#session?.end('the agent stops');
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, random } = this.#options;
    while (!this.#stopping.signal.aborted) {
      await this.#once();
      if (this.#stopping.signal.aborted) return;
      this.#turn += 1;
      await delay(clock, backoffMs(this.#failures, PAUSE, random), this.#stopping.signal);
    }
  }

  async #once(): Promise<void> {
    const { addresses, key, outbox, lease, clock, logger, hello, onUp, onDown, onMessage } = this.#options;
    const address = addresses[this.#turn % addresses.length]!;
    const link = new CoreLink(address, key);
    this.#session = new Session({
      stream: link.openSession(),
      outbox,
      lease,
      clock,
      hello: hello(),
      onWelcome: () => {
        this.#failures = 0;
        logger.info({ address }, 'session opened');
        onUp(link);
      },
      onMessage,
    });
    const end = await this.#session.run();
    this.#session = undefined;
    if (end.welcomed) onDown();
    link.close();
    this.#failures += 1;
    if (!this.#stopping.signal.aborted) logger.warn({ address, reason: end.reason, failures: this.#failures }, 'session ended');
  }
}
