/**
 * Core's decisions on keys, kept for a moment so that a bad key is refused before its body is read and a good one costs no call. Only
 * core decides; an answer is never older than core allows, and never older than 5 s.
 */
import { LRUCache } from 'lru-cache';
import { delay } from '../../core/runtime/clock.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { CheckAccessRequest, CheckAccessResponse } from '../../proto/gen/slipway/v1/access_service.ts';
import { CoreError } from '../../proto/wire/reason.ts';

/** What a request wants, and with which key. */
export type AccessQuestion = CheckAccessRequest & { apiKey: string };

/** Asks core. Throws CoreError. */
export type CheckAccess = (question: AccessQuestion) => Promise<CheckAccessResponse>;

type Decision = CheckAccessResponse | CoreError;

interface Entry {
  decision: Decision;
  untilMs: number;
}

/** Longest use of a positive decision, in milliseconds. */
const GOOD_MS_MAX = 5_000;
/** Use of a negative decision: short, so that a new key or endpoint works at once. */
const BAD_MS = 1_000;
/** How long a good decision stands while core is away, how long its answer is waited for, and how long it then counts as away, in milliseconds. */
const LIVE_MS_MAX = 600_000;
const AWAY_AFTER_MS = 500;
const AWAY_MS = 1_000;
/** Decisions kept; beyond it the one unused for longest goes. */
const ENTRIES_MAX = 10_000;
/** Questions to core at a time: a flood of random keys must not become a flood of calls. */
const QUESTIONS_MAX = 1_000;

export class AccessCache {
  readonly #check: CheckAccess;
  readonly #clock: Clock;
  readonly #entries = new LRUCache<string, Entry>({ max: ENTRIES_MAX });
  readonly #questions = new Map<string, Promise<Decision>>();

  /** Core does not answer: until then nobody waits for it whose last decision was good. */
  #awayUntilMs = -Infinity;

  constructor(check: CheckAccess, clock: Clock) {
    this.#check = check;
    this.#clock = clock;
  }

  /** The decision when it is known, else a promise of it. An error is a decision too: UNAUTHORIZED or ENDPOINT_NOT_FOUND. */
  look(asking: AccessQuestion): Decision | Promise<Decision> {
    const { apiKey, endpointId, write, api } = asking;
    const name = `${api}${write ? 'w' : 'r'}${endpointId} ${apiKey}`;
    const entry = this.#entries.get(name);
    if (entry !== undefined && this.#clock.monotonicMs() < entry.untilMs) return entry.decision;
    const asked = this.#questions.get(name);
    if (asked !== undefined) return asked;
    if (this.#questions.size >= QUESTIONS_MAX) return new CoreError('RATE_LIMITED', 'Too many keys are being checked; try again shortly.');
    const question = this.#ask(name, asking).finally(() => this.#questions.delete(name));
    this.#questions.set(name, question);
    return question;
  }

  /**
   * As `look`, for what must go on while core is away: then a good decision of the last 10 minutes stands. Whoever it does not know yet is
   * UNAVAILABLE.
   */
  async lookLive(asking: AccessQuestion): Promise<Decision> {
    const looked = this.look(asking);
    if (!(looked instanceof Promise)) return looked;
    const { apiKey, endpointId, write, api } = asking;
    const known = this.#entries.get(`${api}${write ? 'w' : 'r'}${endpointId} ${apiKey}`);
    const now = this.#clock.monotonicMs();
    if (!known || known.decision instanceof CoreError || now > known.untilMs + LIVE_MS_MAX) return looked;
    const { decision } = known;
    if (now < this.#awayUntilMs) return decision;
    const waited = new AbortController();
    const late = delay(this.#clock, AWAY_AFTER_MS, waited.signal).then(() => undefined);
    const fresh = await Promise.race([looked, late]);
    waited.abort();
    if (fresh !== undefined && !(fresh instanceof CoreError && fresh.reason === 'UNAVAILABLE')) return fresh;
    this.#awayUntilMs = this.#clock.monotonicMs() + AWAY_MS;
    return decision;
  }

  async #ask(name: string, question: AccessQuestion): Promise<Decision> {
    // From before the call, so that core's own limit is kept.
    const askedMs = this.#clock.monotonicMs();
    try {
      const decision = await this.#check(question);
      this.#entries.set(name, { decision, untilMs: askedMs + Math.min(decision.validMs, GOOD_MS_MAX) });
      return decision;
    } catch (error) {
      if (!(error instanceof CoreError)) return new CoreError('INTERNAL', String(error), { cause: error });
      if (error.httpStatus === 401 || error.httpStatus === 404) this.#entries.set(name, { decision: error, untilMs: this.#clock.monotonicMs() + BAD_MS });
      return error;
    }
  }
}
