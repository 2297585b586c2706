/**
 * Limits the rate of an account's calls of one kind, whether a facade or the account itself makes them. Otherwise an
 * account that calls core directly could slow down the others.
 */
import type { handleUnaryCall, UntypedHandleCall, UntypedServiceImplementation } from '@grpc/grpc-js';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import type { Access } from '../../access/access.ts';
import { CALLS_WINDOW_MS } from '../../domain/accounts/call-limits.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import { keyOf, statusOf } from './unary.ts';

interface CallRateOptions {
  /** Most calls in a window. */
  callsMax: number;
  access: Access;
  clock: Clock;
  logger: Logger;
}

/** Key of the shared counter. Not a valid account id. */
const KEYLESS = ' keyless';

/** A rate limit. Calls that share the count use the same instance. */
export class CallRate {
  readonly #options: CallRateOptions;
  /** Number of calls in the current window, by account. */
  readonly #counts = new Map<string, number>();
  #endsAtMs = 0;

  constructor(options: CallRateOptions) {
    this.#options = options;
  }

  /** Returns the same handlers, which run only while the caller's account is within the limit. All must be unary. */
  limit<Handlers extends UntypedServiceImplementation>(handlers: Handlers): Handlers {
    const limited = Object.entries(handlers).map(
      ([name, handle]) => [name, this.#limited(handle as handleUnaryCall<unknown, unknown>)] as const,
    );
    return Object.fromEntries<UntypedHandleCall>(limited) as Handlers;
  }

  /**
   * Counts a call. Calls of the operator, who has no account, are not limited. Throws RATE_LIMITED if the call exceeds
   * the limit; it is counted anyway.
   */
  admit(accountId: string): void {
    if (accountId === '') return;
    const { clock, callsMax } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs >= this.#endsAtMs) {
      this.#counts.clear();
      this.#endsAtMs = nowMs + CALLS_WINDOW_MS;
    }
    const count = (this.#counts.get(accountId) ?? 0) + 1;
    this.#counts.set(accountId, count);
    if (count <= callsMax) return;
    const seconds = Math.max(1, Math.ceil((this.#endsAtMs - nowMs) / 1_000));
    const windowSeconds = CALLS_WINDOW_MS / 1_000;
    const text = `More than ${callsMax} such calls of an account in ${windowSeconds} s; try again in ${seconds} s.`;
    throw new DomainError('RATE_LIMITED', text);
  }

  #limited(handle: handleUnaryCall<unknown, unknown>): handleUnaryCall<unknown, unknown> {
    const { logger } = this.#options;
    return (call, done) => {
      this.#admitHolder(keyOf(call.metadata)).then(
        () => handle(call, done),
        (error: unknown) => done(statusOf(error, call, logger)),
      );
    };
  }

  async #admitHolder(apiKey: string): Promise<void> {
    // All calls without a key share one counter.
    if (apiKey === '') return this.admit(KEYLESS);
    const caller = await this.#options.access.caller(apiKey).catch(() => undefined);
    // The handler rejects unknown keys itself.
    if (caller) this.admit(caller.accountId);
  }
}
