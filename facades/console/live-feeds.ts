/**
 * Reads a page once for many tabs. A feed polls its source while it has listeners, and sends the newest view to each
 * listener that can take it. A feed belongs to one key, because keys may see different things.
 */

import type { Clock } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import { CoreError } from '@slipway/proto/wire/reason';
import type { LiveResponse } from '../jobs/live-response.ts';
import type { SseEvent } from '../jobs/sse.ts';
import { frameEvent } from '../jobs/sse.ts';
import { publicError, toCoreError } from '../plugins/errors/public-error.ts';
import { BEAT_MS, LATE_MS, LATE_TEXT } from './views.ts';

/**
 * Pause between two reads, in milliseconds, and its least length as a multiple of a read's duration. So feeds never
 * become most of core's work.
 */
const PACE_MS = 1_500;
const PACE_READS = 4;
/** Longest pause after a failed read, in milliseconds. It bounds the time until a recovered service is shown. */
const AWAY_PACE_MS_MAX = 4_000;
/**
 * Most feeds in total, most feeds of one account, and most listeners in total. The gate limits the listeners of one
 * account.
 */
const FEEDS_MAX = 500;
const ACCOUNT_FEEDS_MAX = 50;
const LISTENERS_MAX = 2_000;
/** Statuses that a retry cannot change. */
const FOR_GOOD: readonly number[] = [400, 401, 404];
/** Heartbeat. It is an event with data, because browsers report neither comments nor events without data to a page. */
const BEAT = frameEvent({ event: 'beat', data: '{}' });

/** Reads the view of a feed. Throws CoreError. */
export interface FeedSource {
  /** Returns the current view. `undefined` if it has not changed since it was last sent. */
  read(signal: AbortSignal): Promise<object | undefined>;
  /** Pause between two reads, in milliseconds. Default: PACE_MS. */
  paceMs?: number;
  /** Returns the history that a new listener needs. */
  past?(): object;
}

/** Identity of a feed. */
interface FeedName {
  accountId: string;
  /** Key of the listener. */
  apiKey: string;
  /** Name of the page. */
  page: string;
}

export class LiveFeeds {
  readonly #clock: Clock;
  readonly #feeds = new Map<string, Feed>();
  /** Feeds by account. */
  readonly #counts = new Map<string, number>();
  #listeners = 0;
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Sends events to a listener until it leaves. `open` creates the source of a feed without listeners. */
  async follow(name: FeedName, open: () => FeedSource, live: LiveResponse): Promise<void> {
    if (this.#closed) throw new CoreError('UNAVAILABLE', 'This process is stopping.');
    const feed = this.#feeds.get(keyOf(name)) ?? this.#open(name, open);
    if (this.#listeners >= LISTENERS_MAX) throw tooMany('of all accounts');
    this.#listeners += 1;
    try {
      await feed.send(live);
    } finally {
      this.#listeners -= 1;
    }
  }

  #open(name: FeedName, open: () => FeedSource): Feed {
    const { accountId } = name;
    const count = this.#counts.get(accountId) ?? 0;
    if (count >= ACCOUNT_FEEDS_MAX) throw tooMany('of this account');
    if (this.#feeds.size >= FEEDS_MAX || this.#listeners >= LISTENERS_MAX) throw tooMany('of all accounts');
    const feed = new Feed(open(), this.#clock, () => {
      this.#feeds.delete(keyOf(name));
      const left = this.#counts.get(accountId)! - 1;
      if (left > 0) this.#counts.set(accountId, left);
      else this.#counts.delete(accountId);
    });
    this.#feeds.set(keyOf(name), feed);
    this.#counts.set(accountId, count + 1);
    return feed;
  }

  /** Ends all feeds and their listeners. */
  close(): void {
    this.#closed = true;
    for (const feed of this.#feeds.values()) feed.end();
  }
}

function keyOf({ apiKey, page }: FeedName): string {
  return `${apiKey} ${page}`;
}

function tooMany(whose: string): CoreError {
  return new CoreError('RATE_LIMITED', `Too many different pages of the console ${whose} are open; close some.`);
}

class Feed {
  readonly #source: FeedSource;
  readonly #clock: Clock;
  readonly #over = new AbortController();
  readonly #waiting = new Set<() => void>();
  readonly #onEnd: () => void;
  #listeners = 0;
  /** Increases with each new view. */
  #version = 0;
  #event: SseEvent | undefined;
  /** The last view that was read. */
  #shown: SseEvent | undefined;
  /** Number of heartbeats so far. */
  #beats = 0;

  constructor(source: FeedSource, clock: Clock, onEnd: () => void) {
    this.#source = source;
    this.#clock = clock;
    this.#onEnd = onEnd;
    void this.#run();
    void this.#beat();
  }

  async send(live: LiveResponse): Promise<void> {
    this.#listeners += 1;
    const takeBack = live.whenGone(() => this.#wake());
    live.start('text/event-stream; charset=utf-8');
    let sent = 0;
    let beats = this.#beats;
    while (!live.closed) {
      if (this.#event && sent !== this.#version) {
        if (sent === 0 && this.#source.past)
          await live.write(frameEvent({ event: 'past', data: JSON.stringify(this.#source.past()) }));
        sent = this.#version;
        await live.write(frameEvent(this.#event));
      } else if (this.#over.signal.aborted) break;
      else if (beats !== this.#beats) {
        beats = this.#beats;
        await live.write(BEAT);
      } else await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
    takeBack();
    live.end();
    this.#listeners -= 1;
    if (this.#listeners === 0) this.end();
  }

  end(): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort();
    this.#onEnd();
    this.#wake();
  }

  async #run(): Promise<void> {
    const { signal } = this.#over;
    while (!signal.aborted) {
      const startedMs = this.#clock.monotonicMs();
      const late = this.#clock.after(LATE_MS, () => this.#sendLate());
      const event = await this.#next();
      late.cancel();
      if (event) this.#publish(event);
      // The key or the request is rejected for good.
      if (event?.event === 'ended') return this.end();
      const tookMs = this.#clock.monotonicMs() - startedMs;
      const restMs = event?.event === 'away' ? Math.min(tookMs * PACE_READS, AWAY_PACE_MS_MAX) : tookMs * PACE_READS;
      await delay(this.#clock, Math.max(this.#source.paceMs ?? PACE_MS, restMs), signal);
    }
  }

  /**
   * Sends heartbeats, however long reads take. They let a page distinguish a feed without news from a lost connection
   * off, and keep proxies from closing an idle connection.
   */
  async #beat(): Promise<void> {
    const { signal } = this.#over;
    for (;;) {
      await delay(this.#clock, BEAT_MS, signal);
      if (signal.aborted) return;
      this.#beats += 1;
      this.#wake();
    }
  }

  /** Reports that a read is late: it may fail much later, or never. An earlier reason is not replaced. */
  #sendLate(): void {
    if (this.#event?.event !== 'away') this.#publish({ event: 'away', data: JSON.stringify({ error: LATE_TEXT }) });
  }

  async #next(): Promise<SseEvent | undefined> {
    try {
      const view = await this.#source.read(this.#over.signal);
      // The last event may have reported that the service is away.
      if (view === undefined) return this.#event?.event === undefined ? undefined : this.#shown;
      this.#shown = { data: JSON.stringify(view) };
      return this.#shown;
    } catch (error) {
      const { status, text, code } = publicError(toCoreError(error));
      return {
        event: FOR_GOOD.includes(status) ? 'ended' : 'away',
        data: JSON.stringify({ error: text, code, status }),
      };
    }
  }

  #publish(event: SseEvent): void {
    this.#event = event;
    this.#version += 1;
    this.#wake();
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }
}
