/**
 * Short messages between the replicas on one database, over LISTEN and NOTIFY. A message may get lost, for instance
 * while a connection is down.
 */

import { Loop } from '@slipway/kit/lifecycle/loop';
import { BaseService } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { Sql } from './database.ts';
import { connect, cutAll } from './database.ts';
import type { DatabaseHosts } from './database-hosts.ts';
import type { PasswordReader } from './database-password.ts';
import type { LostAnswers } from './lost-answers.ts';
import { textArray } from './pack.ts';
import type { ServerAnswers } from './server-answers.ts';
import { isConnectTimeout } from './transient.ts';

export interface NoticeChannelOptions {
  url: string;
  /** Returns the password for a new connection. Default: that of the URL. */
  password?: PasswordReader | undefined;
  /** Gets to know the channel's client. */
  hosts?: DatabaseHosts;
  /** Called with each message, including this replica's own. */
  onNotice(payload: string): void;
  /**
   * Singleton tasks that this replica would acquire. Each is held by one replica at a time, as a lock of this
   * connection. Default: none.
   */
  singletonTasks?: {
    readonly wanted: readonly string[];
    /** Sets the tasks that are held from now on. */
    set(held: readonly string[]): void;
  };
  /** Called after each check: whether the database has responded. */
  onCheck?(answers: boolean): void;
  /** Called if the database sent nothing for as long as an answer may take: all connections may be dead. */
  onSilence?(): void;
  /** Measures how fast the server answers. Sets the time limit of a check's statements. */
  answers: ServerAnswers;
  /** Checks the other connections. */
  lostAnswers?: Pick<LostAnswers, 'check'>;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Longest message in bytes; PostgreSQL rejects 8,000. */
export const NOTICE_BYTES_MAX = 7_900;

const CHANNEL = 'slipway';
const LISTENER_NAME = 'slipway-core-notices';
/**
 * Period in milliseconds in which the channel verifies that it listens, counts peers, and acquires free singleton
 * tasks: tasks of a killed replica are acquired within 3 s.
 */
const CHECK_PERIOD_MS = 2_500;
/**
 * The server ends a connection that is idle for this many times the first limit of an answer and releases its locks:
 * its replica hangs or is unreachable.
 */
const IDLE_ANSWERS = 2;
/** First key of the advisory locks of singleton tasks. */
const SINGLETON_TASK_LOCKS = 594_721_301;

interface CheckRow {
  pid: number;
  listening: boolean;
  listeners: number;
  held: string[];
}

export class NoticeChannel extends BaseService {
  readonly name = 'notices';
  readonly #connect: () => Sql;
  #sql: Sql | undefined;
  readonly #loop: Loop;
  readonly #singletonTasks: NonNullable<NoticeChannelOptions['singletonTasks']>;
  readonly #onCheck: (answers: boolean) => void;
  readonly #onSilence: () => void;
  readonly #lostAnswers: NoticeChannelOptions['lostAnswers'];
  readonly #answers: ServerAnswers;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #peers = true;
  /** Server process of the connection that holds the locks. */
  #pid = 0;
  #held: readonly string[] = [];

  constructor(options: NoticeChannelOptions) {
    super();
    const { url, password, hosts, onNotice, singletonTasks, onCheck, onSilence, lostAnswers } = options;
    const { answers, clock, random, logger } = options;
    this.#onCheck = onCheck ?? (() => undefined);
    this.#onSilence = onSilence ?? (() => undefined);
    this.#lostAnswers = lostAnswers;
    this.#answers = answers;
    this.#clock = clock;
    this.#logger = logger;
    this.#singletonTasks = singletonTasks ?? { wanted: [], set: () => undefined };
    // Hints need not be durable before they are sent.
    const hear = (channel: string, payload: string): void => {
      if (channel === CHANNEL) onNotice(payload);
    };
    const settings = {
      synchronous_commit: 'off',
      idle_session_timeout: `${IDLE_ANSWERS * answers.firstMs}ms`,
    };
    this.#connect = () =>
      connect(url, LISTENER_NAME, 1, logger, settings, {
        ...{ answers, password, hosts },
        onnotify: hear,
      });
    this.#loop = new Loop({
      name: this.name,
      periodMs: CHECK_PERIOD_MS,
      pass: () => this.#check(this.#sql!),
      clock,
      random,
      logger,
    });
  }

  /** Returns whether another replica may be listening. */
  get peers(): boolean {
    return this.#peers;
  }

  /** Records that another replica listens. */
  met(): void {
    this.#peers = true;
  }

  /** Checks at once which singleton tasks are wanted. */
  recheck(): void {
    this.#loop.wake();
  }

  /** Resolves when it listens or, if the database is down, at once: then it listens as soon as the database is up. */
  protected override async onStart(): Promise<void> {
    this.#sql = this.#connect();
    const stopped = new Promise<void>((resolve) => {
      this.ending.addEventListener('abort', () => resolve(), { once: true });
    });
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
    try {
      const row = await this.#inTime(sql, () => this.#readState(sql));
      // Listens again after a lost connection.
      if (!row.listening) await this.#inTime(sql, () => sql`LISTEN slipway`);
      const cut = (await this.#inTime(sql, async () => this.#lostAnswers?.check(sql))) ?? 0;
      if (cut > 0)
        this.#logger.warn(
          { connections: cut },
          'answers of the database were lost; their connections are closed and reopened',
        );
      this.#peers = row.listeners > 1;
      this.#onCheck(true);
    } catch (error) {
      if (isConnectTimeout(error)) this.#answers.missed();
      this.#keep(0, []);
      this.#onCheck(false);
      throw error;
    }
  }

  /**
   * Runs a statement that waits for no lock. Without an answer within the limit its connection is dead, for instance
   * because the host lost power or network; the system would wait a quarter of an hour. Or the server is slow: then the
   * limit grows.
   */
  async #inTime<Result>(sql: Sql, ask: () => PromiseLike<Result>): Promise<Result> {
    const { limit } = this.#answers;
    const askedMs = this.#clock.monotonicMs();
    const isHeard = this.#answers.listen();
    let over = false;
    const waitedMs = limit.ms;
    // After the current tick, in which a response may have been read.
    const silence = this.#clock.after(waitedMs, () =>
      this.#clock.soon(() => {
        if (!over) this.#cut(sql, waitedMs, isHeard());
      }),
    );
    try {
      const result = await ask();
      limit.answered(this.#clock.monotonicMs() - askedMs);
      return result;
    } finally {
      over = true;
      silence.cancel();
    }
  }

  /** Cuts this connection, and all others if none of them received anything. */
  #cut(sql: Sql, waitedMs: number, isHeard: boolean): void {
    this.#answers.missed();
    this.#logger.warn(
      { waitedMs, nextMs: this.#answers.limit.ms },
      isHeard
        ? 'the database answers slowly; the connection of notices is closed and reopened'
        : 'the database does not answer; its connections are closed and reopened',
    );
    cutAll(sql);
    if (!isHeard) this.#onSilence();
  }

  /** Checks everything in one statement. Locks of a lost connection are released with it. */
  async #readState(sql: Sql): Promise<CheckRow> {
    const { wanted } = this.#singletonTasks;
    if (wanted.length === 0 && this.#held.length > 0) await sql`SELECT pg_advisory_unlock_all()`;
    const [row] = await sql<CheckRow[]>`
      SELECT pg_backend_pid() AS pid, EXISTS (SELECT FROM pg_listening_channels() AS c (name)
        WHERE c.name = ${CHANNEL}) AS listening,
        (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
          AND application_name = ${LISTENER_NAME}) AS listeners,
        ARRAY(SELECT d.name FROM unnest(${textArray(wanted)}::text[]) AS d (name)
          WHERE CASE WHEN pg_backend_pid() = ${this.#pid}::int AND d.name = ANY(${textArray(this.#held)}::text[])
            THEN true
            ELSE pg_try_advisory_lock(${SINGLETON_TASK_LOCKS}::int, hashtext(d.name)) END) AS held`;
    this.#keep(row!.pid, row!.held);
    return row!;
  }

  #keep(pid: number, held: readonly string[]): void {
    this.#pid = pid;
    this.#held = held;
    this.#singletonTasks.set(held);
  }
}
