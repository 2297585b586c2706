/** One helper process, which calls the driver for its pool: its requests, one at a time, and its end. */
import type { HelperRequest, HelperResponse } from './helper-protocol.ts';

/** The helper ended without a response. */
class HelperEndedError extends Error {}

export abstract class Helper {
  #waiting: PromiseWithResolvers<HelperResponse> | undefined;
  /** Why it has ended. `undefined` while it can take requests. */
  #ended: string | undefined;

  /** It can take no more requests. */
  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  /** Sends a request; one at a time. Rejects with HelperEndedError. */
  ask(request: HelperRequest): Promise<HelperResponse> {
    if (this.#ended !== undefined)
      return Promise.reject(new HelperEndedError(`the helper process has ended: ${this.#ended}`));
    const waiting = Promise.withResolvers<HelperResponse>();
    this.#waiting = waiting;
    this.send(request);
    return waiting.promise;
  }

  /** Ends it at once, also in the middle of a call. */
  abstract kill(): void;

  protected abstract send(request: HelperRequest): void;

  /** Records the response to its request. */
  protected responded(response: HelperResponse): void {
    this.#waiting?.resolve(response);
    this.#waiting = undefined;
  }

  /** Records its end. Returns false if that was known. */
  protected ended(why: string): boolean {
    if (this.#ended !== undefined) return false;
    this.#ended = why;
    this.#waiting?.reject(new HelperEndedError(`the helper process gave no answer: ${why}`));
    this.#waiting = undefined;
    return true;
  }
}
