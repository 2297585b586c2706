/**
 * Caches core's decisions on which endpoints take requests for a model, as long as core allows, and picks one of them
 * by its share. Only core decides.
 */
import { boundedCache } from '@slipway/kit/bytes/bounded-cache';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { ModelTarget, ResolveModelResponse } from '@slipway/proto/gen/slipway/v1/model_service';
import { CoreError } from '@slipway/proto/wire/reason';

/** Calls core. Throws CoreError. */
type ModelResolver = (apiKey: string, model: string) => Promise<ResolveModelResponse>;

/** Most cached decisions. The least recently used one is dropped. */
const ENTRIES_MAX = 10_000;
/** Longest use of a decision, in milliseconds. */
const VALID_MS_MAX = 1_000;
/** Most questions to core at a time. */
const QUESTIONS_MAX = 1_000;

interface Entry {
  targets: readonly ModelTarget[];
  untilMs: number;
}

export class ModelTargets {
  readonly #resolve: ModelResolver;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #entries = boundedCache<string, Entry>(ENTRIES_MAX);
  readonly #questions = new Map<string, Promise<readonly ModelTarget[]>>();

  constructor(resolve: ModelResolver, clock: Clock, random: Random) {
    this.#resolve = resolve;
    this.#clock = clock;
    this.#random = random;
  }

  /** Returns the endpoint for one request. Throws MODEL_NOT_FOUND, and other errors of core. */
  async pick(apiKey: string, model: string): Promise<ModelTarget> {
    const name = `${apiKey} ${model}`;
    const entry = this.#entries.get(name);
    const isKnown = entry !== undefined && this.#clock.monotonicMs() < entry.untilMs;
    return this.#drawn(isKnown ? entry.targets : await this.#question(name, apiKey, model));
  }

  #drawn(targets: readonly ModelTarget[]): ModelTarget {
    let left = this.#random.fraction() * targets.reduce((sum, { share }) => sum + share, 0);
    const drawn = targets.find(({ share }) => {
      left -= share;
      return left < 0;
    });
    return drawn ?? targets.at(-1)!;
  }

  #question(name: string, apiKey: string, model: string): Promise<readonly ModelTarget[]> {
    const asked = this.#questions.get(name);
    if (asked) return asked;
    if (this.#questions.size >= QUESTIONS_MAX)
      throw new CoreError('RATE_LIMITED', 'Too many models are being looked up; try again shortly.');
    const question = this.#ask(name, apiKey, model).finally(() => this.#questions.delete(name));
    this.#questions.set(name, question);
    return question;
  }

  async #ask(name: string, apiKey: string, model: string): Promise<readonly ModelTarget[]> {
    const askedMs = this.#clock.monotonicMs();
    const { targets, validMs } = await this.#resolve(apiKey, model);
    this.#entries.set(name, { targets, untilMs: askedMs + Math.min(validMs, VALID_MS_MAX) });
    return targets;
  }
}
