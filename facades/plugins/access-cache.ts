/**
 * Core's decisions on keys, kept for a moment so that a bad key is refused before its body is read and a good one costs no call. Only
 * core decides; an answer is never older than core allows, and never older than 5 s.
 */
import { LRUCache } from 'lru-cache';
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
/** Decisions kept; beyond it the one unused for longest goes. */
const ENTRIES_MAX = 10_000;
/** Questions to core at a time: a flood of random keys must not become a flood of calls. */
const QUESTIONS_MAX = 1_000;

export class AccessCache {
  readonly #check: CheckAccess;
  readonly #clock: Clock;
  readonly #entries = new LRUCache<string, Entry>({ max: ENTRIES_MAX });
  readonly #questions = new Map<string, Promise<Decision>>();

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
