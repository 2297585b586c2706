/**
 * Follows the log of a Pod's container. The API gives each line with its time, to the nanosecond. A log that was cut is
 * asked for again from the last time, which the API takes in whole seconds; lines before it, and those of the same time
 * that were already read, are left out. So no line is lost or repeated, unless the node has rotated it away.
 */

import { backoffMs } from '@slipway/kit/time/backoff';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import type { ApiClient } from './api-client.ts';
import { ApiError } from './api-client.ts';
import { LogLines } from './log-lines.ts';
import { CONTAINER } from './pod-labels.ts';

/** Options of a PodLog. */
interface PodLogOptions {
  api: ApiClient;
  namespace: string;
  pod: string;
  onOutput(bytes: Buffer): void;
  /** Returns whether more may come: the container runs. */
  isLive(): boolean;
  clock: Clock;
  random: Random;
}

const PAUSE = { firstMs: 200, maxMs: 5_000 };
/**
 * Pause after a reading that ended in order without news. A node that cannot follow logs ends each at once, for
 * instance one whose inotify instances are used up: 2,000 Pods that ask five times a second would keep an API server
 * busy.
 */
const NO_NEWS_PAUSE = { firstMs: 1_000, maxMs: 30_000 };
/** A reading of this length was followed, in milliseconds: its end is no reason to wait. */
const FOLLOWED_MS = 10_000;
/** Longest time for which the end of a log is waited for once the container has ended, in milliseconds. */
const LAST_MS = 5_000;

export class PodLog {
  readonly #options: PodLogOptions;
  readonly #lines: LogLines;
  readonly #closing = new AbortController();
  readonly #over = new AbortController();
  #reading: Promise<void> | undefined;
  /** The current reading has brought something new. */
  #isNews = false;

  constructor(options: PodLogOptions) {
    this.#options = options;
    this.#lines = new LogLines((bytes) => {
      this.#isNews = true;
      if (!this.#closing.signal.aborted) options.onOutput(bytes);
    });
  }

  /** Begins to follow. */
  start(): void {
    this.#reading ??= this.#follow();
  }

  /** Resolves when everything that the container wrote was received, or cannot be. Call it once it has ended. */
  async finish(): Promise<void> {
    const { clock } = this.#options;
    this.#over.abort();
    await Promise.race([this.#reading, delay(clock, LAST_MS)]);
    this.#lines.end();
    this.close();
  }

  /** Ends at once: nothing more is received. */
  close(): void {
    this.#closing.abort();
  }

  async #follow(): Promise<void> {
    const { clock, random, isLive } = this.#options;
    for (let failures = 0, withoutNews = 0; !this.#closing.signal.aborted; ) {
      const isLast = !isLive();
      const beganMs = clock.monotonicMs();
      try {
        await this.#read();
        failures = 0;
        const wasFollowed = this.#isNews || clock.monotonicMs() - beganMs >= FOLLOWED_MS;
        withoutNews = wasFollowed ? 0 : withoutNews + 1;
        if (isLast) return;
      } catch (error) {
        // The container's log does not exist any more, or not yet.
        if (isLast && error instanceof ApiError && !error.mayPass) return;
        failures += 1;
      }
      const isQuiet = failures === 0 && withoutNews > 0;
      const pauseMs = isQuiet
        ? backoffMs(withoutNews, NO_NEWS_PAUSE, random)
        : backoffMs(Math.max(failures, 1), PAUSE, random);
      // The end of the container also ends the pause: the rest of the log is read then.
      const signal = AbortSignal.any([this.#closing.signal, this.#over.signal]);
      await delay(clock, pauseMs, this.#over.signal.aborted ? undefined : signal);
    }
  }

  async #read(): Promise<void> {
    const { api, namespace, pod } = this.#options;
    const query = { container: CONTAINER, follow: 'true', timestamps: 'true', sinceTime: this.#lines.since };
    const path = `/api/v1/namespaces/${namespace}/pods/${pod}/log`;
    const stream = await api.stream(path, { query, signal: this.#closing.signal });
    this.#isNews = false;
    this.#lines.begin();
    for await (const part of stream as AsyncIterable<Buffer>) this.#lines.push(part);
  }
}
