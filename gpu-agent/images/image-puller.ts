/**
 * Ensures that an image is on this machine. Workloads that want the same image share a pull. A failure that may pass is
 * retried; for any other the error is a sentence for the owner.
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

/** An image that is wanted. */
export interface WantedImage {
  /** Name as its owner wrote it. */
  name: string;
  /** `sha256:…` if the digest is resolved, else empty. */
  digest: string;
  credentials: ImageCredentials | undefined;
  /**
   * Resolves the name: gets the digest that it has here, returns the digest to use. Not called if `digest` is given
   * or the image came from no registry.
   */
  resolveDigest(digest: string): Promise<string>;
}

/** Dependencies and settings of a puller. */
interface PullerOptions {
  store: ImageStore;
  guard: RegistryGuard;
  /** Processor architecture of the engine, for instance `amd64`. */
  architecture: string;
  clock: Clock;
  random: Random;
  /** Pauses between tries. Default: 1 s to 30 s. */
  pause?: BackoffOptions;
  /** Most tries of a pull. Default: enough for about a minute and a half. */
  triesMax?: number;
  /** Counts pulls. Default: they are not counted. */
  onPull?: OnPull | undefined;
  /**
   * Frees space on a full disk: removes unneeded images until there is space for about this many bytes. Returns how
   * many were removed. Default: none.
   */
  freeSpace?: ((bytes: number) => Promise<number>) | undefined;
}

/** Called when a pull has ended, after all its tries. */
export type OnPull = (result: 'pulled' | 'failed' | 'abandoned', tookMs: number) => void;

/** Most tries of a pull whose failure may pass. */
const TRIES_MAX = 6;
const PAUSE: BackoffOptions = { firstMs: 1_000, maxMs: 30_000 };
/** Factor on the size of a pull: its data lies packed and unpacked on the disk for a moment. */
const UNPACKED_FACTOR = 3;
/** Most images that are remembered as unfinished. */
const UNFINISHED_MAX = 100;
/** Shortest time between two progress lines of a pull, in milliseconds. */
const PROGRESS_PERIOD_MS = 1_000;

export class ImagePuller {
  readonly #options: PullerOptions;
  /** By image and credentials: no account may use what only another may pull. */
  readonly #pulls = new Map<string, SharedPull>();
  /** Images of which only a part arrived. Engines keep little or nothing of it, so the next pull starts anew. */
  readonly #unfinished = new Set<string>();

  constructor(options: PullerOptions) {
    this.#options = options;
  }

  /**
   * Resolves with the image once it is here and is known to be the right one. Rejects with PrepareError or the signal's
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
    const resolved = digest === '' ? '' : await wanted.resolveDigest(digest);
    signal.throwIfAborted();
    return resolved === digest ? image : this.#exact({ ...name, digest: resolved }, wanted, progress, signal);
  }

  /**
   * Returns the digest under which the registry has the image. The image may have several, and others could not pull it
   * by the wrong one.
   */
  async #digestAtRegistry(
    image: StoredImage,
    name: ImageName,
    { credentials }: WantedImage,
    signal: AbortSignal,
  ): Promise<string> {
    const digests = digestsOf(image, name);
    if (digests.length < 2) return digests[0] ?? '';
    for (const digest of digests) {
      // All layers are here: only the manifest is requested.
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

  /**
   * Returns an image that was built on this machine and belongs to no registry. A bare name may mean it, too, as in
   * engines.
   */
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
    // Docker puts no registry in front of the images that it builds; such an image has no registry digest.
    const built = await store.find(fullName(name));
    return built?.digests.length === 0 ? built : undefined;
  }

  /** Returns the image with a resolved digest. If it is here, no registry is needed. */
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
      if (shared.listeners.size === 0) shared.abort.abort(new Error('the pull has no waiter left'));
    }
  }

  #begin(key: string, name: ImageName, wanted: WantedImage): SharedPull {
    const abort = new AbortController();
    const shared: SharedPull = { done: undefined!, listeners: new Set(), text: `pulling ${wanted.name}`, abort };
    const startedAtMs = this.#options.clock.monotonicMs();
    const count = (result: 'pulled' | 'failed' | 'abandoned'): void =>
      this.#options.onPull?.(result, this.#options.clock.monotonicMs() - startedAtMs);
    // An abandoned pull may end after the next one of this image has begun.
    const forget = (): void => {
      if (this.#pulls.get(key) === shared) this.#pulls.delete(key);
    };
    shared.done = this.#tryPull(name, wanted, shared).finally(forget);
    shared.done.then(
      () => count('pulled'),
      () => count(abort.signal.aborted ? 'abandoned' : 'failed'),
    );
    // Waiting callers get the error. There may be none left.
    shared.done.catch(() => undefined);
    this.#pulls.set(key, shared);
    abort.signal.addEventListener('abort', forget);
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
      await retry(() => this.#pullFreeingSpace(name, wanted, shared), {
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
      const words =
        `${wanted.name} is for ${image.architecture}, but this machine is ${architecture}: build it for ` +
        `${architecture}`;
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

  /** Pulls, and frees space whenever the disk is full. This ends, because each time something is removed. */
  async #pullFreeingSpace(name: ImageName, wanted: WantedImage, shared: SharedPull): Promise<void> {
    const { store, freeSpace } = this.#options;
    for (;;) {
      const progress = new PullProgress(wanted.name, this.#unfinished.has(fullName(name)));
      try {
        return await store.pull(
          name,
          wanted.credentials,
          this.#onProgress(progress, fullName(name), shared),
          shared.abort.signal,
        );
      } catch (error) {
        const { failure } = pullFailure({
          name: wanted.name,
          registry: name.registry,
          words: (error as Error).message,
        }).error;
        if (shared.abort.signal.aborted || failure !== 'NO_SPACE' || !freeSpace) throw error;
        const removed = await freeSpace(progress.totalBytes * UNPACKED_FACTOR);
        if (removed === 0) throw error;
        const what = removed === 1 ? 'an unused image was' : `${removed} unused images were`;
        reportProgress(shared, `pulling ${wanted.name}: the disk was full, ${what} removed`);
      }
    }
  }

  /** Returns a listener that reports a new progress line, at most one per second. */
  #onProgress(
    state: PullProgress,
    full: string,
    shared: SharedPull,
  ): (event: Parameters<PullProgress['take']>[0]) => void {
    const { clock } = this.#options;
    let reportedAtMs = -Infinity;
    return (event) => {
      state.take(event);
      if (state.hasBytes) this.#noteUnfinished(full);
      if (clock.monotonicMs() - reportedAtMs < PROGRESS_PERIOD_MS || state.text() === shared.text) return;
      reportedAtMs = clock.monotonicMs();
      reportProgress(shared, state.text());
    };
  }
}
