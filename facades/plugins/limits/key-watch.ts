/**
 * Checks keys again for as long as something that they opened stays open: connections that became another protocol,
 * requests that wait. All that one key has opened at one endpoint shares a check, so that a thousand waiting requests
 * ask core no more often than one.
 */
import type { Clock, Timer } from '@slipway/kit/time/clock';
import { CoreError } from '@slipway/proto/wire/reason';
import type { AccessCache, AccessRequest } from './access-cache.ts';
import { AWAY_AFTER_MS, accessKey, LIVE_USED_MS } from './access-cache.ts';

/** Time between two checks in milliseconds. */
const RECHECK_MS = 2_000;
/**
 * Longest time in which a revoked key ends its open requests, in milliseconds, as documented in docs/reference/api.md.
 */
const REVOKED_MS = 5_000;

// A check may hear a decision that was good just before the revocation, and only the next one hears the new one.
if (RECHECK_MS + LIVE_USED_MS + AWAY_AFTER_MS >= REVOKED_MS)
  throw new Error('keys are checked too rarely for the documented 5 s');

/** Ends a watch. May be called more than once. */
type Unwatch = () => void;

/** Watches one key: calls `onRefused` once, when the key is no longer valid. */
export type WatchKey = (onRefused: () => void) => Unwatch;

interface Watched {
  listeners: Set<() => void>;
  timer: Timer | undefined;
}

export class KeyWatch {
  readonly #access: Pick<AccessCache, 'checkLive'>;
  readonly #clock: Clock;
  readonly #watched = new Map<string, Watched>();

  constructor(access: Pick<AccessCache, 'checkLive'>, clock: Clock) {
    this.#access = access;
    this.#clock = clock;
  }

  /** Watches a key that was accepted. While core is unreachable it counts as valid. */
  access(question: AccessRequest): WatchKey {
    const isGood = async (): Promise<boolean> => !isUnauthorized(await this.#access.checkLive(question));
    return (onRefused) => this.watch(accessKey(question), isGood, onRefused);
  }

  /**
   * Calls `onRefused` when `isGood` returns false. Watches of the same name share checks. A rejection that is not
   * UNAUTHORIZED changes nothing.
   */
  watch(name: string, isGood: () => Promise<boolean>, onRefused: () => void): Unwatch {
    const watched = this.#watched.get(name) ?? this.#begin(name, isGood);
    watched.listeners.add(onRefused);
    return () => {
      if (!watched.listeners.delete(onRefused) || watched.listeners.size > 0) return;
      this.#forget(name, watched);
    };
  }

  #begin(name: string, isGood: () => Promise<boolean>): Watched {
    const watched: Watched = { listeners: new Set(), timer: undefined };
    this.#watched.set(name, watched);
    const recheck = (): void => {
      watched.timer = this.#clock.after(RECHECK_MS, () => void check());
    };
    const check = async (): Promise<void> => {
      const good = await isGood().catch((error: unknown) => !isUnauthorized(error));
      if (this.#watched.get(name) !== watched) return;
      if (good) return recheck();
      this.#forget(name, watched);
      for (const onRefused of watched.listeners) onRefused();
    };
    recheck();
    return watched;
  }

  #forget(name: string, watched: Watched): void {
    watched.timer?.cancel();
    if (this.#watched.get(name) === watched) this.#watched.delete(name);
  }
}

function isUnauthorized(answer: unknown): boolean {
  return answer instanceof CoreError && answer.reason === 'UNAUTHORIZED';
}
