/**
 * Follows the Pods of a label: lists them, then watches from there. A broken watch continues where it ended, after a
 * growing pause; one whose position the API has forgotten (410) begins with a new list. Nothing counts as gone because
 * the API cannot be reached: a Pod is gone when an event or a list says so.
 */
import { createInterface } from 'node:readline';
import type { Logger } from '@slipway/kit/log/logger';
import { backoffMs } from '@slipway/kit/time/backoff';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import type { ApiClient } from './api-client.ts';
import { ApiError } from './api-client.ts';
import type { ApiList, ApiPod } from './api-types.ts';

/** Options of a PodWatch. */
interface PodWatchOptions {
  api: ApiClient;
  namespace: string;
  labelSelector: string;
  /** Called for each new state of a Pod. */
  onPod(pod: ApiPod): void;
  /** Called with the last known state of a Pod that no longer exists. */
  onGone(pod: ApiPod): void;
  clock: Clock;
  random: Random;
  logger: Logger;
}

interface WatchEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  object: ApiPod & { code?: number; message?: string };
}

/** Length of a watch in seconds. The API ends it then. */
const WATCH_SECONDS = 120;
/** Time after its limit at which a watch without an end counts as cut silently, in milliseconds. */
const WATCH_LATE_MS = 15_000;
/** A watch that ends earlier and without an event has failed: no pause would follow the next one either. */
const WATCH_MS_MIN = 1_000;
const PAUSE = { firstMs: 200, maxMs: 10_000 };
/** Pods of one page of a list. */
const PAGE = 500;

export class PodWatch {
  readonly #options: PodWatchOptions;
  readonly #pods = new Map<string, ApiPod>();
  readonly #closing = new AbortController();
  readonly #synced = Promise.withResolvers<void>();
  #version: string | undefined;
  #failures = 0;
  #running: Promise<void> | undefined;

  constructor(options: PodWatchOptions) {
    this.#options = options;
  }

  /** Resolves when all Pods are known. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  /** All known Pods. */
  get pods(): readonly ApiPod[] {
    return [...this.#pods.values()];
  }

  /** Returns a Pod by its name. */
  get(name: string): ApiPod | undefined {
    return this.#pods.get(name);
  }

  /** Begins to follow. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Ends. Nothing is called afterwards. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, random, logger } = this.#options;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        if (this.#version === undefined) await this.#list();
        await this.#watch();
        this.#failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        const isForgotten = error instanceof ApiError && error.status === 410;
        if (isForgotten) {
          this.#version = undefined;
          logger.info('the API has forgotten where the watch of Pods was: they are listed again');
        }
        this.#failures += 1;
        if (this.#failures === 1 && !isForgotten) logger.warn({ err: error }, 'Pods cannot be watched, trying again');
        await delay(clock, backoffMs(this.#failures, PAUSE, random), signal);
      }
    }
  }

  get #path(): string {
    return `/api/v1/namespaces/${this.#options.namespace}/pods`;
  }

  async #list(): Promise<void> {
    const { api, labelSelector, onGone } = this.#options;
    const found = new Map<string, ApiPod>();
    let next: string | undefined;
    let version: string | undefined;
    do {
      const query = { labelSelector, limit: String(PAGE), continue: next };
      const page = await api.call<ApiList<ApiPod>>('GET', this.#path, { query, signal: this.#closing.signal });
      for (const pod of page.items) found.set(pod.metadata.name, pod);
      ({ resourceVersion: version, continue: next } = page.metadata);
    } while (next);
    for (const [name, pod] of this.#pods) {
      if (found.get(name)?.metadata.uid === pod.metadata.uid) continue;
      this.#pods.delete(name);
      onGone(pod);
    }
    for (const pod of found.values()) this.#set(pod);
    this.#version = version;
    this.#synced.resolve();
  }

  async #watch(): Promise<void> {
    const { api, labelSelector, clock } = this.#options;
    const late = new AbortController();
    const timer = clock.after(WATCH_SECONDS * 1_000 + WATCH_LATE_MS, () => late.abort());
    try {
      const query = {
        labelSelector,
        watch: 'true',
        allowWatchBookmarks: 'true',
        timeoutSeconds: String(WATCH_SECONDS),
        resourceVersion: this.#version,
      };
      const signal = AbortSignal.any([this.#closing.signal, late.signal]);
      const stream = await api.stream(this.#path, { query, signal });
      const openedMs = clock.monotonicMs();
      let isUseful = false;
      try {
        // A cut ends the loop; what came before it counts.
        for await (const line of createInterface({ input: stream, crlfDelay: Infinity })) {
          if (this.#closing.signal.aborted) return;
          this.#take(JSON.parse(line) as WatchEvent);
          isUseful = true;
        }
      } finally {
        isUseful ||= clock.monotonicMs() - openedMs >= WATCH_MS_MIN;
        if (isUseful) this.#failures = 0;
      }
      if (!isUseful) throw new ApiError(0, '', 'the watch ended at once');
      if (stream.errored) throw new ApiError(0, '', `the watch was cut: ${stream.errored.message}`);
    } finally {
      timer.cancel();
    }
  }

  #take({ type, object }: WatchEvent): void {
    if (type === 'ERROR') throw new ApiError(object.code ?? 500, '', object.message ?? 'the watch failed');
    this.#version = object.metadata.resourceVersion;
    if (type === 'BOOKMARK') return;
    if (type !== 'DELETED') return this.#set(object);
    this.#pods.delete(object.metadata.name);
    this.#options.onGone(object);
  }

  #set(pod: ApiPod): void {
    const known = this.#pods.get(pod.metadata.name);
    // Between two lists a Pod may have been replaced by another of its name.
    if (known && known.metadata.uid !== pod.metadata.uid) this.#options.onGone(known);
    this.#pods.set(pod.metadata.name, pod);
    this.#options.onPod(pod);
  }
}
