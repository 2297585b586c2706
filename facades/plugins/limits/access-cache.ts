/**
 * Caches core's decisions on keys, so that a bad key is rejected before its body is read and a good one costs no
 * call. Only core decides. A decision is never older than core allows, and never older than 5 s.
 */
import { boundedCache } from '@slipway/kit/bytes/bounded-cache';
import type { Clock } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import type { CheckAccessRequest, CheckAccessResponse } from '@slipway/proto/gen/slipway/v1/access_service';
import { CoreError } from '@slipway/proto/wire/reason';

/** An access check: the key and the requested access. */
export type AccessRequest = CheckAccessRequest & { apiKey: string };

/** Calls core. Throws CoreError. */
type CheckAccess = (question: AccessRequest) => Promise<CheckAccessResponse>;

type Decision = CheckAccessResponse | CoreError;

interface Entry {
  decision: Decision;
  askedMs: number;
  untilMs: number;
}

/** Longest use of a positive decision, in milliseconds. */
const GOOD_MS_MAX = 5_000;
/** Use of a negative decision: short, so that a new key or endpoint works at once. */
const BAD_MS = 1_000;
/**
 * Ages of a decision for load-balancing endpoints, in milliseconds: it is refreshed after the first and no longer
 * used after the second. A revoked key reaches workers for at most 2 s.
 */
const LIVE_FRESH_MS = 750;
export const LIVE_USED_MS = 1_500;
/**
 * Longest use of a positive decision while core is unreachable, and longest time in which core may answer before it
 * counts as unreachable, in milliseconds.
 */
const LIVE_MS_MAX = 600_000;
export const AWAY_AFTER_MS = 500;
/** Most cached decisions. The least recently used one is dropped. */
const ENTRIES_MAX = 10_000;
/** Questions to core at a time: a flood of random keys must not become a flood of calls. */
const CHECKS_MAX = 1_000;

export class AccessCache {
  readonly #check: CheckAccess;
  readonly #clock: Clock;
  readonly #entries = boundedCache<string, Entry>(ENTRIES_MAX);
  /** Accounts by key. */
  readonly #accounts = boundedCache<string, string>(ENTRIES_MAX);
  readonly #questions = new Map<string, Promise<Decision>>();
  /** Whether core does not answer. Requests with a cached positive decision then do not wait for it. */
  #away = false;

  constructor(check: CheckAccess, clock: Clock) {
    this.#check = check;
    this.#clock = clock;
  }

  /**
   * Returns the decision if it is known, else a promise of it. An error is a decision too: UNAUTHORIZED or
   * ENDPOINT_NOT_FOUND.
   */
  check(asking: AccessRequest): Decision | Promise<Decision> {
    const name = accessKey(asking);
    const entry = this.#entries.get(name);
    if (entry !== undefined && this.#clock.monotonicMs() < entry.untilMs) return entry.decision;
    return this.#question(name, asking);
  }

  /**
   * Checks like `check`, and works while core is unreachable: then a positive decision of the last 10 minutes is used,
   * and unknown keys get UNAVAILABLE. While core is reachable no decision is older than 1.5 s.
   */
  async checkLive(asking: AccessRequest): Promise<Decision> {
    const name = accessKey(asking);
    const known = this.#entries.get(name);
    const now = this.#clock.monotonicMs();
    if (!known || known.decision instanceof CoreError || now - known.askedMs > LIVE_MS_MAX) return this.check(asking);
    const { decision, askedMs, untilMs } = known;
    const ageMs = now < untilMs ? now - askedMs : Infinity;
    if (ageMs < LIVE_FRESH_MS) return decision;
    const asked = this.#question(name, asking);
    if (ageMs < LIVE_USED_MS || this.#away) return decision;
    const waited = new AbortController();
    const late = delay(this.#clock, AWAY_AFTER_MS, waited.signal).then(() => undefined);
    const fresh = await Promise.race([asked, late]);
    waited.abort();
    if (fresh !== undefined && !(fresh instanceof CoreError && fresh.reason === 'UNAVAILABLE')) return fresh;
    this.#away = true;
    return decision;
  }

  /** Returns the account whose key it was when core was last asked. `undefined` if the key is not known to be valid. */
  accountOf(apiKey: string): string | undefined {
    return this.#accounts.get(apiKey);
  }

  #question(name: string, asking: AccessRequest): Decision | Promise<Decision> {
    const asked = this.#questions.get(name);
    if (asked !== undefined) return asked;
    if (this.#questions.size >= CHECKS_MAX)
      return new CoreError('RATE_LIMITED', 'Too many keys are being checked; try again shortly.');
    const question = this.#ask(name, asking).finally(() => this.#questions.delete(name));
    this.#questions.set(name, question);
    return question;
  }

  async #ask(name: string, question: AccessRequest): Promise<Decision> {
    // Taken before the call, so that core's own limit holds.
    const askedMs = this.#clock.monotonicMs();
    try {
      const decision = await this.#check(question);
      this.#away = false;
      this.#accounts.set(question.apiKey, decision.accountId);
      this.#entries.set(name, { decision, askedMs, untilMs: askedMs + Math.min(decision.validMs, GOOD_MS_MAX) });
      return decision;
    } catch (error) {
      if (!(error instanceof CoreError)) return new CoreError('INTERNAL', String(error), { cause: error });
      if (error.httpStatus === 401 || error.httpStatus === 404) {
        this.#away = false;
        if (error.httpStatus === 401) this.#accounts.delete(question.apiKey);
        this.#entries.set(name, { decision: error, askedMs, untilMs: this.#clock.monotonicMs() + BAD_MS });
      }
      return error;
    }
  }
}

/** Names a question: equal ones have one name. */
export function accessKey({ apiKey, endpointId, write, api }: AccessRequest): string {
  return `${api}${write ? 'w' : 'r'}${endpointId} ${apiKey}`;
}
