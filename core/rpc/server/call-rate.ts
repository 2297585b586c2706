/**
 * The rate of an account's calls of one kind, whether a facade makes them or the account itself: else one who calls
 * core directly could keep it from the others.
 */
import type { handleUnaryCall, UntypedHandleCall, UntypedServiceImplementation } from '@grpc/grpc-js';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import type { Access } from '../../access/access.ts';
import { CALLS_WINDOW_MS } from '../../domain/accounts/call-limits.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import { keyOf, statusOf } from './unary.ts';

export interface CallRateOptions {
  /** Calls in a window. */
  callsMax: number;
  access: Access;
  clock: Clock;
  logger: Logger;
}

/** No id of an account. */
const KEYLESS = ' keyless';

/** One for all that share the count. */
export class CallRate {
  readonly #options: CallRateOptions;
  /** Calls of the accounts that made any in the present window. */
  readonly #counts = new Map<string, number>();
  #endsAtMs = 0;

  constructor(options: CallRateOptions) {
    this.#options = options;
  }

  /** The same handlers, which only run while the caller's account is within the rate. All must be unary. */
  limit<Handlers extends UntypedServiceImplementation>(handlers: Handlers): Handlers {
    const limited = Object.entries(handlers).map(
      ([name, handle]) => [name, this.#limited(handle as handleUnaryCall<unknown, unknown>)] as const,
    );
    return Object.fromEntries<UntypedHandleCall>(limited) as Handlers;
  }

  /**
   * Counts a call; those of the operator, who has no account, are not limited. RATE_LIMITED: it is one too many; it
   * counts all the same.
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
    const text = `More than ${callsMax} such calls of an account in ${CALLS_WINDOW_MS / 1_000} s; try again in ${seconds} s.`;
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
    // Those without a key share a count, whatever they may call.
    if (apiKey === '') return this.admit(KEYLESS);
    const caller = await this.#options.access.caller(apiKey).catch(() => undefined);
    // The handler refuses unknown keys itself.
    if (caller) this.admit(caller.accountId);
  }
}
