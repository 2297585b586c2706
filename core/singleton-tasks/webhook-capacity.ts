/** Counts webhook calls in flight and bounds them: in all, of each endpoint, and of each account by calls and bytes. */

import type { AtLimit, Delivery } from '../store/webhooks/webhook-store.ts';
import { AT_ONCE_MAX } from './webhook-caller.ts';

/**
 * Concurrent calls of one endpoint: a slow receiver must not block the others. An account may have as many calls and
 * bytes as are still free: alone that is half of them, and an account with none always gets some.
 */
const AT_ONCE_PER_ENDPOINT_MAX = 16;
/** Bytes of bodies in memory at once; a larger body goes alone. */
const BYTES_AT_ONCE_MAX = 64 * 1024 * 1024;

type Call = Pick<Delivery, 'endpointId' | 'accountId' | 'bodyBytes'>;

export class WebhookCapacity {
  /** Calls in flight, by endpoint and by account. */
  readonly #ofEndpoint = new Map<string, number>();
  readonly #ofAccount = new Map<string, number>();
  readonly #bytesOfAccount = new Map<string, number>();
  #count = 0;
  #bytes = 0;

  /** Returns how many calls can begin, which is also how many one account may have. */
  get free(): number {
    return AT_ONCE_MAX - this.#count;
  }

  /** Returns whether a call may begin. */
  allows({ endpointId, accountId, bodyBytes }: Call): boolean {
    if (this.#bytes > 0 && this.#bytes + bodyBytes > BYTES_AT_ONCE_MAX) return false;
    const ownBytes = this.#bytesOfAccount.get(accountId) ?? 0;
    if (ownBytes > 0 && ownBytes + bodyBytes > BYTES_AT_ONCE_MAX - this.#bytes) return false;
    return (
      (this.#ofEndpoint.get(endpointId) ?? 0) < AT_ONCE_PER_ENDPOINT_MAX &&
      (this.#ofAccount.get(accountId) ?? 0) < this.free
    );
  }

  /** Counts a call that begins. */
  enter(call: Call): void {
    this.#add(call, 1);
  }

  /** Counts a call that has ended. */
  leave(call: Call): void {
    this.#add(call, -1);
  }

  /**
   * Returns the endpoints and accounts at their limit. Their waiting calls stay untouched, so that calls of others are
   * found at once.
   */
  atLimit(): AtLimit {
    return {
      endpointIds: atLeast(this.#ofEndpoint, AT_ONCE_PER_ENDPOINT_MAX),
      accountIds: atLeast(this.#ofAccount, this.free),
    };
  }

  #add({ endpointId, accountId, bodyBytes }: Call, sign: 1 | -1): void {
    count(this.#ofEndpoint, endpointId, sign);
    count(this.#ofAccount, accountId, sign);
    count(this.#bytesOfAccount, accountId, sign * bodyBytes);
    this.#count += sign;
    this.#bytes += sign * bodyBytes;
  }
}

function count(calls: Map<string, number>, id: string, change: number): void {
  const now = (calls.get(id) ?? 0) + change;
  if (now > 0) calls.set(id, now);
  else calls.delete(id);
}

function atLeast(calls: ReadonlyMap<string, number>, min: number): string[] {
  return [...calls].flatMap(([id, running]) => (running >= min ? [id] : []));
}
