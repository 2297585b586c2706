/**
 * GPUs whose process was told to end and has not ended yet. Core gives the GPUs of a pod away as soon as it is stopped
 * or deleted; whoever gets them here waits for the last one's end, which its grace bounds, so that two never share the
 * memory of one.
 */

/** GPUs in use. */
export interface GpuUse {
  readonly uuids: readonly string[];
  /** Whoever uses them was told to end: the next one waits for it from now on. */
  leave(): void;
  /** Nobody uses them any more. */
  end(): void;
}

export class GpuHandover {
  /** By uuid: settles when the process has ended. */
  readonly #leaving = new Map<string, Promise<void>>();

  /** Begins a use. */
  use(uuids: readonly string[]): GpuUse {
    const { promise, resolve } = Promise.withResolvers<void>();
    return { uuids, leave: () => this.#leave(uuids, promise), end: resolve };
  }

  /** Resolves when nobody who was told to end still has these GPUs. */
  async free(uuids: readonly string[]): Promise<void> {
    for (const uuid of uuids) await this.#leaving.get(uuid);
  }

  #leave(uuids: readonly string[], ended: Promise<void>): void {
    for (const uuid of uuids) {
      this.#leaving.set(uuid, ended);
      void ended.then(() => {
        if (this.#leaving.get(uuid) === ended) this.#leaving.delete(uuid);
      });
    }
  }
}
