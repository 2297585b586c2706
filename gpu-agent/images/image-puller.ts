/**
 * Sees to it that an image is here: units that want the same one share a pull, what may pass is tried again, what
 * cannot is said in a sentence.
 */

import { retry } from '@slipway/kit/lifecycle/retry';
import type { BackoffOptions } from '@slipway/kit/time/backoff';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { ImageName } from './image-name.ts';
import { fullName, parseImageName } from './image-name.ts';
import type { ImageStore, StoredImage } from './image-store.ts';
import { digestsOf } from './image-store.ts';
import type { ImageCredentials } from './prepare-error.ts';
import { PrepareError } from './prepare-error.ts';
import { pullFailure } from './pull-failure.ts';
import { PullProgress } from './pull-progress.ts';
import type { RegistryGuard } from './registry-guard.ts';
import type { SharedPull } from './shared-pull.ts';
import { rejectOnAbort, reportProgress } from './shared-pull.ts';

/** Which image is wanted. */
export interface WantedImage {
  /** As its owner wrote it. */
  name: string;
  /** `sha256:…` when it is settled which bytes that means, else empty. */
  digest: string;
  credentials: ImageCredentials | undefined;
  /**
   * Told what the name resolved to here, answers what it shall mean. Not called when `digest` is given or the image
   * came from no registry.
   */
  settle(digest: string): Promise<string>;
}

/** What a puller works with. */
export interface PullerOptions {
  store: ImageStore;
  guard: RegistryGuard;
  /** Processor of the engine, for instance `amd64`. */
  architecture: string;
  clock: Clock;
  random: Random;
  /** Pauses between tries; default 1 s to 30 s. */
  pause?: BackoffOptions;
  /** Default: tries of about a minute and a half. */
  triesMax?: number;
  /** Default: nobody counts. */
  onPull?: OnPull | undefined;
  /**
   * The disk is full: removes images that nobody needs until there is room for about so many bytes. Answers how many.
   * Default: none.
   */
  makeRoom?: ((bytes: number) => Promise<number>) | undefined;
}

/** A pull has ended, with all its tries. */
export type OnPull = (result: 'pulled' | 'failed' | 'abandoned', tookMs: number) => void;

/** Tries of a pull whose failure may pass. */
const TRIES_MAX = 6;
const PAUSE: BackoffOptions = { firstMs: 1_000, maxMs: 30_000 };
/** What is pulled lies packed and unpacked on the disk for a moment. */
const UNPACKED_FACTOR = 3;
/** Images that are remembered as unfinished. */
const UNFINISHED_MAX = 100;
/** Least time between two lines about a pull, in milliseconds. */
const NEWS_MS = 1_000;

export class ImagePuller {
  readonly #options: PullerOptions;
  /** By image and credentials: nobody profits from what another may pull. */
  readonly #pulls = new Map<string, SharedPull>();
  /**
   * Images of which something came that is not whole: engines keep little or nothing of it, so that the next pull
   * begins anew.
   */
  readonly #unfinished = new Set<string>();

  constructor(options: PullerOptions) {
    this.#options = options;
  }

  /**
   * Resolves with the image once it is here and it is settled that it is the right one. PrepareError, or the signal's
   * reason.
   */
  async prepare(wanted: WantedImage, progress: (text: string) => void, signal: AbortSignal): Promise<StoredImage> {
    signal.throwIfAborted();
    const name = parseImageName(wanted.name);
    if (!name)
      throw new PrepareError(
        'REFUSED',
        `${wanted.name} cannot be the name of an image: write it like registry/path:tag`,
      );
    const local = wanted.digest === '' ? await this.#local(wanted.name, name) : undefined;
    if (local) return local;
    if (wanted.digest !== '') return this.#exact({ ...name, digest: wanted.digest }, wanted, progress, signal);
    const image = await this.#pull(name, wanted, progress, signal);
    const digest = await this.#digestAtRegistry(image, name, wanted, signal);
    const settled = digest === '' ? '' : await wanted.settle(digest);
    signal.throwIfAborted();
    return settled === digest ? image : this.#exact({ ...name, digest: settled }, wanted, progress, signal);
  }

  /** Of several digests the one by which the registry has the image: others would not find it there. */
  async #digestAtRegistry(
    image: StoredImage,
    name: ImageName,
    { credentials }: WantedImage,
    signal: AbortSignal,
  ): Promise<string> {
    const digests = digestsOf(image, name);
    if (digests.length < 2) return digests[0] ?? '';
    for (const digest of digests) {
      // All layers are here: only the manifest is asked for.
      const has = await this.#options.store
        .pull({ ...name, digest }, credentials, () => undefined, signal)
        .then(
          () => true,
          () => false,
        );
      if (has) return digest;
    }
    return digests[0]!;
  }

  /** What was built on this machine belongs to no registry. A bare name means it, too, as engines have it. */
  async #local(written: string, name: ImageName): Promise<StoredImage | undefined> {
    const { store } = this.#options;
    const bare = name.repository === `docker.io/library/${written.split(/[:@]/)[0]!}`;
    if (name.registry !== 'localhost' && !bare) return undefined;
    const full =
      name.registry === 'localhost' ? fullName(name) : `localhost/${name.repository.split('/').at(-1)!}:${name.tag}`;
    const image = await store.find(full);
    if (image) return image;
    if (name.registry === 'localhost') {
      throw new PrepareError(
        'NOT_FOUND',
        `this machine has no image ${written}: build it here, or push it to a registry and name that`,
      );
    }
    // What Docker builds gets no registry in front; it has no digest of one.
    const built = await store.find(fullName(name));
    return built?.digests.length === 0 ? built : undefined;
  }

  /** It is settled which bytes: those that are here need no registry. */
  async #exact(
    name: ImageName,
    wanted: WantedImage,
    progress: (text: string) => void,
    signal: AbortSignal,
  ): Promise<StoredImage> {
    return (await this.#options.store.find(fullName(name))) ?? this.#pull(name, wanted, progress, signal);
  }

  async #pull(
    name: ImageName,
    wanted: WantedImage,
    progress: (text: string) => void,
    signal: AbortSignal,
  ): Promise<StoredImage> {
    const key = JSON.stringify([fullName(name), wanted.credentials?.username, wanted.credentials?.password]);
    const shared = this.#pulls.get(key) ?? this.#begin(key, name, wanted);
    shared.listeners.add(progress);
    progress(shared.text);
    try {
      return await Promise.race([shared.done, rejectOnAbort(signal)]);
    } finally {
      shared.listeners.delete(progress);
      if (shared.listeners.size === 0) shared.abort.abort(new Error('nobody wants the image any more'));
    }
  }

  #begin(key: string, name: ImageName, wanted: WantedImage): SharedPull {
    const abort = new AbortController();
    const shared: SharedPull = { done: undefined!, listeners: new Set(), text: `pulling ${wanted.name}`, abort };
    const startedAtMs = this.#options.clock.monotonicMs();
    const count = (result: 'pulled' | 'failed' | 'abandoned'): void =>
      this.#options.onPull?.(result, this.#options.clock.monotonicMs() - startedAtMs);
    shared.done = this.#tryPull(name, wanted, shared).finally(() => this.#pulls.delete(key));
    shared.done.then(
      () => count('pulled'),
      () => count(abort.signal.aborted ? 'abandoned' : 'failed'),
    );
    // Whoever still waits is told; nobody may be left.
    shared.done.catch(() => undefined);
    this.#pulls.set(key, shared);
    abort.signal.addEventListener('abort', () => this.#pulls.get(key) === shared && this.#pulls.delete(key));
    return shared;
  }

  async #tryPull(name: ImageName, wanted: WantedImage, shared: SharedPull): Promise<StoredImage> {
    const { store, guard, architecture, clock, random, pause = PAUSE, triesMax = TRIES_MAX } = this.#options;
    const { signal } = shared.abort;
    await guard.check(wanted.name, name.registry);
    const failureOf = (error: unknown): ReturnType<typeof pullFailure> =>
      pullFailure({
        name: wanted.name,
        registry: name.registry,
        words: (error as Error).message,
        credentials: wanted.credentials,
      });
    try {
      await retry(() => this.#pullWithRoom(name, wanted, shared), {
        clock,
        random,
        pause,
        triesMax,
        signal,
        mayHelp: (error) => failureOf(error).mayPass,
        onFailure: (error, failures) => {
          const {
            error: { message },
            mayPass,
          } = failureOf(error);
          if (mayPass && failures < triesMax && !signal.aborted) reportProgress(shared, `${message}; trying again`);
        },
      });
    } catch (error) {
      signal.throwIfAborted();
      throw failureOf(error).error;
    }
    this.#unfinished.delete(fullName(name));
    const image = await store.find(fullName(name));
    if (!image)
      throw new PrepareError(
        'NOT_FOUND',
        `${wanted.name} was pulled and is gone again: something removes images from this machine`,
      );
    if (image.architecture !== '' && architecture !== '' && image.architecture !== architecture) {
      const words = `${wanted.name} is for ${image.architecture}, but this machine is ${architecture}: build it for ${architecture}`;
      throw new PrepareError('WRONG_PLATFORM', words);
    }
    return image;
  }

  #noteUnfinished(full: string): void {
    if (this.#unfinished.has(full)) return;
    this.#unfinished.add(full);
    const [oldest] = this.#unfinished;
    if (this.#unfinished.size > UNFINISHED_MAX) this.#unfinished.delete(oldest!);
  }

  /** Each time that the disk is full something makes way, so that this ends. */
  async #pullWithRoom(name: ImageName, wanted: WantedImage, shared: SharedPull): Promise<void> {
    const { store, makeRoom } = this.#options;
    for (;;) {
      const progress = new PullProgress(wanted.name, this.#unfinished.has(fullName(name)));
      try {
        return await store.pull(
          name,
          wanted.credentials,
          this.#news(progress, fullName(name), shared),
          shared.abort.signal,
        );
      } catch (error) {
        const { failure } = pullFailure({
          name: wanted.name,
          registry: name.registry,
          words: (error as Error).message,
        }).error;
        if (shared.abort.signal.aborted || failure !== 'NO_SPACE' || !makeRoom) throw error;
        const removed = await makeRoom(progress.totalBytes * UNPACKED_FACTOR);
        if (removed === 0) throw error;
        const what = removed === 1 ? 'an image that nobody needs has' : `${removed} images that nobody needs have`;
        reportProgress(shared, `pulling ${wanted.name}: the disk was full, ${what} made way`);
      }
    }
  }

  /** A line whenever there is news, at most one per second. */
  #news(state: PullProgress, full: string, shared: SharedPull): (event: Parameters<PullProgress['take']>[0]) => void {
    const { clock } = this.#options;
    let toldAtMs = -Infinity;
    return (event) => {
      state.take(event);
      if (state.hasBytes) this.#noteUnfinished(full);
      if (clock.monotonicMs() - toldAtMs < NEWS_MS || state.text() === shared.text) return;
      toldAtMs = clock.monotonicMs();
      reportProgress(shared, state.text());
    };
  }
}
