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
import type { LostAnswers } from './lost-answers.ts';
import { textArray } from './pack.ts';

export interface NoticeChannelOptions {
  url: string;
  /** Hears of every message, those of this replica too. */
  onNotice(payload: string): void;
  /**
   * Duties that this replica would take; each is held by one replica at a time, as a lock of this connection. Default:
   * none.
   */
  singletonTasks?: {
    readonly wanted: readonly string[];
    /** These are held from now on, and no others. */
    set(held: readonly string[]): void;
  };
  /** Hears after each check whether the database has answered. */
  onCheck?(answers: boolean): void;
  /** The database has not answered for ANSWER_MS_MAX: nothing may be heard over other connections either. */
  onSilence?(): void;
  /** Looks after those other connections at each check. */
  lostAnswers?: Pick<LostAnswers, 'check'>;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Longest message in bytes; PostgreSQL refuses 8,000. */
export const NOTICE_BYTES_MAX = 7_900;

const CHANNEL = 'slipway';
const LISTENER_NAME = 'slipway-core-notices';
/**
 * How often the channel makes sure that it listens, counts the others and takes duties that nobody holds, in
 * milliseconds: those of a replica that was killed are taken within 3 s.
 */
const CHECK_PERIOD_MS = 2_500;
/**
 * A check waits for nothing in the database: when it has no answer after so many milliseconds, the other end is gone
 * without a word, as a host that lost its power or its network is. The system would wait for an answer for a quarter of
 * an hour.
 */
const ANSWER_MS_MAX = 5_000;
/**
 * A connection over which nothing was said for so long is ended by the server, and what it held is free: its replica
 * stands still or is out of reach.
 */
const SILENT_MAX = '10s';
/** First key of the advisory locks of duties. */
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
  readonly #clock: Clock;
  readonly #logger: Logger;
  #peers = true;
  /** The server's process of the connection that the locks belong to. */
  #pid = 0;
  #held: readonly string[] = [];

  constructor(options: NoticeChannelOptions) {
    super();
    const { url, onNotice, singletonTasks, onCheck, onSilence, lostAnswers, clock, random, logger } = options;
    this.#onCheck = onCheck ?? (() => undefined);
    this.#onSilence = onSilence ?? (() => undefined);
    this.#lostAnswers = lostAnswers;
    this.#clock = clock;
    this.#logger = logger;
    this.#singletonTasks = singletonTasks ?? { wanted: [], set: () => undefined };
    // Hints need not be on disk before they are sent.
    const hear = (channel: string, payload: string): void => {
      if (channel === CHANNEL) onNotice(payload);
    };
    this.#connect = () =>
      connect(url, LISTENER_NAME, 1, logger, { synchronous_commit: 'off', idle_session_timeout: SILENT_MAX }, hear);
    this.#loop = new Loop({
      name: this.name,
      periodMs: CHECK_PERIOD_MS,
      pass: () => this.#check(this.#sql!),
      clock,
      random,
      logger,
    });
  }

  /** Whether another replica may be listening. */
  get peers(): boolean {
    return this.#peers;
  }

  /** Another replica was heard: it listens. */
  met(): void {
    this.#peers = true;
  }

  /** Looks at once which duties are wanted. */
  recheck(): void {
    this.#loop.wake();
  }

  /** Listens when it resolves, if the database is there; else as soon as it is. */
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
    let over = false;
    // After the current turn, in which an answer may have been read.
    const silence = this.#clock.after(ANSWER_MS_MAX, () =>
      this.#clock.soon(() => {
        if (!over) this.#cut(sql);
      }),
    );
    try {
      const row = await this.#look(sql);
      // After a lost connection this is what makes us hear again.
      if (!row.listening) await sql`LISTEN slipway`;
      const cut = (await this.#lostAnswers?.check(sql)) ?? 0;
      if (cut > 0)
        this.#logger.warn(
          { connections: cut },
          'answers of the database were lost on their way, their connections are cut and made anew',
        );
      this.#peers = row.listeners > 1;
      this.#onCheck(true);
    } catch (error) {
      this.#keep(0, []);
      this.#onCheck(false);
      throw error;
    } finally {
      over = true;
      silence.cancel();
    }
  }

  #cut(sql: Sql): void {
    this.#logger.warn(
      { waitedMs: ANSWER_MS_MAX },
      'the database does not answer, its connections are cut and made anew',
    );
    cutAll(sql);
    this.#onSilence();
  }

  /** One statement for everything; locks that a lost connection held are gone with it. */
  async #look(sql: Sql): Promise<CheckRow> {
    const { wanted } = this.#singletonTasks;
    if (wanted.length === 0 && this.#held.length > 0) await sql`SELECT pg_advisory_unlock_all()`;
    const [row] = await sql<CheckRow[]>`
      SELECT pg_backend_pid() AS pid, EXISTS (SELECT FROM pg_listening_channels() AS c (name) WHERE c.name = ${CHANNEL}) AS listening,
        (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = ${LISTENER_NAME}) AS listeners,
        ARRAY(SELECT d.name FROM unnest(${textArray(wanted)}::text[]) AS d (name)
          WHERE CASE WHEN pg_backend_pid() = ${this.#pid}::int AND d.name = ANY(${textArray(this.#held)}::text[]) THEN true
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
