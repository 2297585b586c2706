/**
 * Deletes Pods. A delete is repeated until the API has accepted it, and the end is what the API then reports: the
 * kubelet has ended the containers of a Pod when it no longer exists. Nothing is deleted with a grace of 0, which takes
 * the Pod from the API at once although its processes may run on.
 */
import { retryUntil } from '@slipway/kit/lifecycle/retry';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { ApiClient } from './api-client.ts';
import { ApiError, isNotFound } from './api-client.ts';
import type { TrackedPod } from './tracked-pod.ts';

/** Options of a PodEnder. */
interface PodEnderOptions {
  api: ApiClient;
  namespace: string;
  /** Time that a Pod may take to end after SIGTERM, in seconds. */
  graceSeconds: number;
  clock: Clock;
  random: Random;
  logger: Logger;
}

const PAUSE = { firstMs: 500, maxMs: 10_000 };
/** Shortest grace with which the kubelet confirms the end, in seconds. */
const KILL_SECONDS = 1;

export class PodEnder {
  readonly #options: PodEnderOptions;
  readonly #closing = new AbortController();

  constructor(options: PodEnderOptions) {
    this.#options = options;
  }

  /** Ends a Pod: SIGTERM gives it the grace, SIGKILL nearly none. Resolves when it no longer exists, or on `close`. */
  async end(tracked: TrackedPod, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (tracked.asked === 'SIGKILL' || tracked.asked === signal) return this.#gone(tracked);
    tracked.asked = signal;
    const { workloadId, uid } = tracked;
    const seconds = signal === 'SIGKILL' ? KILL_SECONDS : this.#options.graceSeconds;
    await this.retry(workloadId, async () => {
      if (tracked.isGone) return;
      // A Pod that was already asked to end accepts a shorter grace only.
      await this.delete(workloadId, uid, seconds).catch((error: unknown) => {
        if (!isNotFound(error) && !isOther(error)) throw error;
      });
    });
    await this.#gone(tracked);
  }

  /** Deletes one object by its path, until that was accepted. Resolves also if it does not exist, or on `close`. */
  async drop(path: string): Promise<void> {
    await this.retry(path, async () => {
      await this.#options.api.call('DELETE', path).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
    });
  }

  /** Asks once for the end of a Pod. Rejects with ApiError. */
  async delete(name: string, uid: string, gracePeriodSeconds: number): Promise<void> {
    const { api, namespace } = this.#options;
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds, preconditions: { uid } };
    await api.call('DELETE', `/api/v1/namespaces/${namespace}/pods/${name}`, { body });
  }

  /** Calls the API for an object until that succeeds. Returns `undefined` on `close`. */
  retry<Result>(object: string, work: () => Promise<Result>): Promise<Result | undefined> {
    const { clock, random, logger } = this.#options;
    return retryUntil(this.#closing.signal, work, {
      clock,
      random,
      pause: PAUSE,
      onFailure: (err, failures) => {
        if (failures === 1) logger.warn({ object, err }, 'an object of Kubernetes could not be removed, trying again');
      },
    });
  }

  /** Stops trying. */
  close(): void {
    this.#closing.abort();
  }

  async #gone(tracked: TrackedPod): Promise<void> {
    const { signal } = this.#closing;
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const onClose = (): void => resolve();
    signal.addEventListener('abort', onClose);
    await Promise.race([tracked.gone, promise]);
    signal.removeEventListener('abort', onClose);
  }
}

/** Returns whether another Pod has the name now, so that the ending one is gone. */
function isOther(error: unknown): boolean {
  return error instanceof ApiError && error.status === 409;
}
