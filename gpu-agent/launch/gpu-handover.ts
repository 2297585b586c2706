/**
 * Tracks GPUs whose process was asked to end and has not ended yet. Core reassigns the GPUs of a pod as soon as it is
 * stopped or deleted. The next user on this machine waits for the end of the previous one, so that two processes never
 * share the memory of a GPU. The grace period bounds that wait.
 */

/** GPUs in use. */
export interface GpuUse {
  readonly uuids: readonly string[];
  /** Records that the user was asked to end: the next one waits for it from now on. */
  leave(): void;
  /** Records that the GPUs are no longer used. */
  end(): void;
}

export class GpuHandover {
  /**
   * By UUID: each resolves when its process has ended. There may be several: one that waits for the GPU may be asked to
   * end before it had it.
   */
  readonly #leaving = new Map<string, Set<Promise<void>>>();

  /** Begins a use. */
  use(uuids: readonly string[]): GpuUse {
    const { promise, resolve } = Promise.withResolvers<void>();
    return { uuids, leave: () => this.#leave(uuids, promise), end: resolve };
  }

  /** Resolves when no process that was asked to end still has these GPUs. */
  async free(uuids: readonly string[]): Promise<void> {
    for (const uuid of uuids)
      for (let left = this.#leaving.get(uuid); left; left = this.#leaving.get(uuid)) await Promise.all(left);
  }

  #leave(uuids: readonly string[], ended: Promise<void>): void {
    for (const uuid of uuids) {
      const left = this.#leaving.get(uuid) ?? new Set();
      this.#leaving.set(uuid, left.add(ended));
      void ended.then(() => {
        left.delete(ended);
        if (left.size === 0 && this.#leaving.get(uuid) === left) this.#leaving.delete(uuid);
      });
    }
  }
}
