/**
 * Reads from the API of another account over HTTP. It can send GET requests and GraphQL queries, nothing else, so
 * nothing can change there. The key goes to one address only.
 */

import { retry } from '@slipway/kit/lifecycle/retry';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { delay, within } from '@slipway/kit/time/clock';
import { interruptionOf, RejectedError, UnreachableError } from '../../failures.ts';
import type { Output } from '../../output/output.ts';
import { readBounded } from './read-bounded.ts';
import { waitAfter, waitBefore } from './source-rate.ts';

/** Longest time for one response, in milliseconds. */
const RESPONSE_MS_MAX = 60_000;
/** Largest response in bytes. */
const RESPONSE_BYTES_MAX = 32 * 1024 * 1024;
const TRIES_MAX = 5;
const PAUSE = { firstMs: 500, maxMs: 10_000 };
/** Longest wait for the rate limit of the source, in milliseconds. */
const WAIT_MS_MAX = 120_000;
/** Statuses of routes that a service does not have, or that the key may not read. */
const ABSENT: ReadonlySet<number> = new Set([403, 404, 405, 410, 501]);

/** Result of a request: the body, or the HTTP status that says that the route is absent. */
type SourceAnswer = { body: unknown } | { absent: number };

interface SourceClientOptions {
  /** Address without a path of the API. */
  origin: string;
  /** Address of GraphQL. */
  graphqlUrl: string;
  key: string;
  /** File that the key is from, for people. */
  keyFile: string;
  clock: Clock;
  random: Random;
  output: Output;
  /** Aborts when the command is to end. */
  stopping: AbortSignal;
}

/** A failed request. `passes`: the same request may succeed later. */
class SourceError extends Error {
  readonly passes: boolean;
  readonly isAway: boolean;

  constructor(message: string, { passes = false, isAway = false } = {}) {
    super(message);
    this.passes = passes;
    this.isAway = isAway;
  }
}

export class SourceClient {
  readonly #options: SourceClientOptions;
  /** Wait before the next request, in milliseconds: the source said that its limit is used up. */
  #restMs = 0;

  constructor(options: SourceClientOptions) {
    this.#options = options;
  }

  get origin(): string {
    return this.#options.origin;
  }

  /** Reads a path of the API. Throws RejectedError, UnreachableError or InterruptedError, with texts for people. */
  get(path: string): Promise<SourceAnswer> {
    return this.#ask(`GET ${path}`, this.#options.origin + path, {});
  }

  /** Runs a GraphQL query. It must not be a mutation. Throws as `get` does. */
  query(query: string): Promise<SourceAnswer> {
    if (!/^\s*query\b/.test(query)) throw new Error('only queries are sent to the source');
    const request = {
      method: 'POST',
      body: JSON.stringify({ query }),
      headers: { 'content-type': 'application/json' },
    };
    return this.#ask('GraphQL query', this.#options.graphqlUrl, request);
  }

  async #ask(what: string, url: string, request: RequestInit): Promise<SourceAnswer> {
    const { clock, random, stopping } = this.#options;
    try {
      return await retry(() => this.#once(what, url, request), {
        clock,
        random,
        pause: PAUSE,
        triesMax: TRIES_MAX,
        signal: stopping,
        mayHelp: (error) => error instanceof SourceError && error.passes && !stopping.aborted,
      });
    } catch (error) {
      if (stopping.aborted) throw interruptionOf(stopping);
      if (!(error instanceof SourceError)) throw error;
      throw error.isAway ? new UnreachableError(error.message) : new RejectedError(error.message);
    }
  }

  async #once(what: string, url: string, request: RequestInit): Promise<SourceAnswer> {
    const { clock, stopping, key } = this.#options;
    await this.#rest();
    const headers = { ...request.headers, accept: 'application/json', authorization: `Bearer ${key}` };
    return within(clock, RESPONSE_MS_MAX, stopping, async (signal) => {
      // A redirect is not followed: the key would go to another host.
      const response = await fetch(url, { ...request, headers, redirect: 'manual', signal }).catch((error: unknown) => {
        throw this.#unreachable(error);
      });
      this.#restMs = waitBefore(response.headers);
      const text = await readBounded(response, RESPONSE_BYTES_MAX).catch((error: unknown) => {
        throw this.#unreachable(error);
      });
      if (text === undefined)
        throw new SourceError(
          `${what}: the answer of ${this.origin} is longer than ${RESPONSE_BYTES_MAX / 1024 ** 2} MiB.`,
        );
      return this.#judge(what, response, text);
    });
  }

  #judge(what: string, { status, headers }: Response, text: string): SourceAnswer {
    const { origin, keyFile, clock } = this.#options;
    if (status >= 300 && status < 400) {
      const to = headers.get('location') ?? 'elsewhere';
      throw new SourceError(
        `${what}: ${origin} redirects to ${to}. The key is not sent there; give the right address with --from.`,
      );
    }
    if (status === 401) throw new SourceError(`${what}: ${origin} does not accept the key of ${keyFile} (401).`);
    if (ABSENT.has(status)) return { absent: status };
    if (status === 429) {
      this.#restMs = waitAfter(headers, clock.nowMs()) ?? this.#restMs;
      throw new SourceError(`${what}: ${origin} limits requests (429); try again later.`, { passes: true });
    }
    if (status >= 500)
      throw new SourceError(`${what}: ${origin} fails with status ${status}.`, { passes: true, isAway: true });
    if (status !== 200) throw new SourceError(`${what}: ${origin} answers with status ${status}: ${excerpt(text)}`);
    try {
      return { body: JSON.parse(text) as unknown };
    } catch {
      const kind = /^\s*</.test(text) ? 'a web page' : 'no JSON';
      throw new SourceError(
        `${what}: ${origin} answers with ${kind} (${excerpt(text)}). Is it the address of the API?`,
      );
    }
  }

  /** Waits until the source takes requests again. */
  async #rest(): Promise<void> {
    const ms = this.#restMs;
    this.#restMs = 0;
    if (ms === 0) return;
    const { clock, output, stopping, origin } = this.#options;
    const seconds = Math.ceil(ms / 1_000);
    if (ms > WAIT_MS_MAX)
      throw new SourceError(`${origin} takes no more requests for ${seconds} s; run the command again after that.`);
    output.progress(`Waiting for the rate limit of ${origin}`, `${seconds} s`);
    await delay(clock, ms, stopping);
    if (stopping.aborted) throw interruptionOf(stopping);
  }

  #unreachable(error: unknown): SourceError {
    const { cause, message } = error as { cause?: { code?: string; message?: string }; message?: string };
    const why = cause?.code ?? cause?.message ?? message ?? 'no connection';
    return new SourceError(`The source cannot be reached at ${this.origin} (${why}).`, { passes: true, isAway: true });
  }
}

/** Returns the beginning of a text on one line. */
function excerpt(text: string): string {
  const line = text
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return line.length > 120 ? `${line.slice(0, 120)}…` : line || 'empty';
}
