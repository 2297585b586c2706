/** Sends kinds of requests at even rates, and measures how long each takes. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Ledger } from './ledger.ts';
import { quantile } from './trend.ts';

/** One kind of request. */
export interface Kind {
  name: string;
  perSecond: number;
  /** Sends one and checks its answer. Throws if the answer is not the right one. */
  send(number: number): Promise<void>;
  /** True if its duration is not a latency, for example because it waits for a rollout. Default false. */
  isSlow?: boolean;
}

/** Latencies of the requests that ended in a period. */
interface Latencies {
  count: number;
  p50Ms: number;
  p99Ms: number;
}

const TICK_MS = 25;
/** Requests of a kind under way at most. More are left out and counted. */
const AT_ONCE_MAX = 40;

/** A running load. */
export class MixedLoad {
  readonly #kinds: readonly Kind[];
  readonly #ledger: Ledger;
  readonly #sent = new Map<string, number>();
  readonly #underWay = new Map<string, Set<Promise<void>>>();
  #latenciesMs: number[] = [];
  /** Requests that were left out because too many of their kind were under way. */
  omitted = 0;
  #isOver = false;
  #isPaused = false;
  /** How long it was paused so far. */
  #pausedMs = 0;

  constructor(kinds: readonly Kind[], ledger: Ledger) {
    this.#kinds = kinds;
    this.#ledger = ledger;
    for (const { name } of kinds) this.#underWay.set(name, new Set());
  }

  /** Sends requests until `work` has ended or failed, and waits for the last answers. Returns what `work` returns. */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    const sending = this.#send();
    try {
      return await work();
    } finally {
      this.#isOver = true;
      await sending;
    }
  }

  /** Sends nothing while `work` is done, which begins after the last answer. Returns what it returns. */
  async paused<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#isPaused = true;
    const beganMs = performance.now();
    try {
      await this.#answered();
      return await work();
    } finally {
      this.#pausedMs += performance.now() - beganMs;
      this.#isPaused = false;
    }
  }

  async #send(): Promise<void> {
    const beganMs = performance.now();
    while (!this.#isOver) {
      const seconds = (performance.now() - beganMs - this.#pausedMs) / 1_000;
      if (!this.#isPaused) for (const kind of this.#kinds) this.#sendDue(kind, seconds);
      await delay(TICK_MS);
    }
    await this.#answered();
  }

  async #answered(): Promise<void> {
    await Promise.all([...this.#underWay.values()].flatMap((promises) => [...promises]));
  }

  /** Requests sent so far, by kind. */
  get sent(): ReadonlyMap<string, number> {
    return this.#sent;
  }

  /** Returns the latencies since the last call. */
  takeLatencies(): Latencies {
    const values = this.#latenciesMs;
    this.#latenciesMs = [];
    return { count: values.length, p50Ms: quantile(values, 0.5), p99Ms: quantile(values, 0.99) };
  }

  #sendDue(kind: Kind, seconds: number): void {
    const underWay = this.#underWay.get(kind.name)!;
    let sent = this.#sent.get(kind.name) ?? 0;
    for (; sent < Math.floor(seconds * kind.perSecond); sent += 1) {
      if (underWay.size >= AT_ONCE_MAX) {
        this.omitted += 1;
        continue;
      }
      const sending: Promise<void> = this.#sendOne(kind, sent).finally(() => underWay.delete(sending));
      underWay.add(sending);
    }
    this.#sent.set(kind.name, sent);
  }

  async #sendOne(kind: Kind, number: number): Promise<void> {
    const beganMs = performance.now();
    try {
      await kind.send(number);
    } catch (error) {
      this.#ledger.fault(kind.name, error instanceof Error ? error.message.slice(0, 400) : String(error));
    }
    if (!kind.isSlow) this.#latenciesMs.push(performance.now() - beganMs);
  }
}
