/** Short messages between the replicas on one database, over LISTEN and NOTIFY. A message may get lost, for instance while a connection is down. */
import { Loop } from '../runtime/loop.ts';
import type { Clock, Random } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { BaseService } from '../runtime/service.ts';
import { connect } from './database.ts';
import type { Sql } from './database.ts';
import { textArray } from './pack.ts';

/** What a channel needs. */
export interface NoticeChannelOptions {
  url: string;
  /** Hears of every message, those of this replica too. */
  onNotice(payload: string): void;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Longest message in bytes; PostgreSQL refuses 8,000. */
export const NOTICE_BYTES_MAX = 7_900;

const CHANNEL = 'slipway';
const LISTENER_NAME = 'slipway-core-notices';
/** How often the channel makes sure that it listens, and counts the others, in milliseconds. */
const CHECK_PERIOD_MS = 2_000;

export class NoticeChannel extends BaseService {
  readonly name = 'notices';
  readonly #connect: () => Sql;
  #sql: Sql | undefined;
  readonly #loop: Loop;
  #peers = true;

  constructor(options: NoticeChannelOptions) {
    super();
    const { url, onNotice, clock, random, logger } = options;
    // Hints need not be on disk before they are sent.
    const hear = (channel: string, payload: string): void => { if (channel === CHANNEL) onNotice(payload); };
    this.#connect = () => connect(url, LISTENER_NAME, 1, logger, { synchronous_commit: 'off' }, hear);
    this.#loop = new Loop({ name: this.name, periodMs: CHECK_PERIOD_MS, pass: () => this.#check(this.#sql!), clock, random, logger });
  }

  /** Whether another replica may be listening. */
  get peers(): boolean {
    return this.#peers;
  }

  /** Another replica was heard: it listens. */
  met(): void {
    this.#peers = true;
  }

  /** Listens when it resolves, if the database is there; else as soon as it is. */
  protected override async onStart(): Promise<void> {
    this.#sql = this.#connect();
    const stopped = new Promise<void>((resolve) => { this.ending.addEventListener('abort', () => resolve(), { once: true }); });
    await Promise.race([this.#check(this.#sql).catch(() => {}), stopped]);
    await this.#loop.start();
  }

  protected override async onStop(): Promise<void> {
    await this.#loop.stop();
    const sql = this.#sql;
    this.#sql = undefined;
    await sql?.end({ timeout: 1 });
  }

  /** Sends messages of at most NOTICE_BYTES_MAX bytes each. Only while it runs. */
  async send(payloads: readonly string[]): Promise<void> {
    const sql = this.#sql;
    if (sql) await sql`SELECT pg_notify(${CHANNEL}, p) FROM unnest(${textArray(payloads)}::text[]) AS p`;
  }

  async #check(sql: Sql): Promise<void> {
    // Listening twice changes nothing; after a lost connection it is what makes us hear again.
    await sql`LISTEN slipway`;
    const [row] = await sql<{ count: number }[]>`
      SELECT count(*) AS count FROM pg_stat_activity WHERE datname = current_database() AND application_name = ${LISTENER_NAME}`;
    this.#peers = (row?.count ?? 2) > 1;
  }
}
