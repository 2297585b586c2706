/**
 * Endpoints that wait for their turn, and the transactions that take them. Each takes the first of those that wait when it begins: whoever comes while
 * others have theirs waits for the transactions that have begun, and not for all who came before.
 */
import { nextTurns } from './turn-order.ts';
import type { WaitingTurn } from './turn-order.ts';

/**
 * Transactions at once: they place one after the other, and while one does the next reads what its endpoints have to do. What machines tell of a worker that
 * is asked to go waits until they are over.
 */
const TRANSACTIONS_MAX = 2;

interface Waiting {
  turn: WaitingTurn;
  over: PromiseWithResolvers<void>;
}

export class TurnQueue {
  readonly #take: (endpointIds: readonly string[]) => Promise<void>;
  readonly #waiting = new Map<string, Waiting>();
  readonly #taking = new Map<string, Promise<void>>();
  readonly #transactions = new Set<Promise<void>>();
  #stopped = false;

  /** `take` takes turns together. */
  constructor(take: (endpointIds: readonly string[]) => Promise<void>) {
    this.#take = take;
  }

  /** The turn of this endpoint is still to come: it sees all that has happened until then. */
  waits(endpointId: string): boolean {
    return this.#waiting.has(endpointId);
  }

  /** The end of the turn that this endpoint has just now; it never fails. Undefined: it has none. */
  turnOf(endpointId: string): Promise<void> | undefined {
    return this.#taking.get(endpointId);
  }

  /** Resolves when all of them have had their turns, and fails as the first of them that fails. */
  async add(turns: readonly WaitingTurn[]): Promise<void> {
    if (this.#stopped) return;
    const all = turns.map((turn) => {
      const waiting = { turn, over: this.#waiting.get(turn.endpoint.id)?.over ?? Promise.withResolvers<void>() };
      this.#waiting.set(turn.endpoint.id, waiting);
      return waiting.over.promise;
    });
    this.#begin();
    await Promise.all(all);
  }

  /** Those that have begun end; the others are left to whoever looks next. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { over } of this.#waiting.values()) over.resolve();
    this.#waiting.clear();
    await Promise.all(this.#transactions);
  }

  #begin(): void {
    while (this.#transactions.size < TRANSACTIONS_MAX) {
      const next = this.#next();
      if (next.size === 0) return;
      const transaction = this.#takeTurns(next).finally(() => {
        this.#transactions.delete(transaction);
        this.#begin();
      });
      this.#transactions.add(transaction);
    }
  }

  /** Taken out. One at a time of each: whoever finds an endpoint locked does nothing, and what it saw would be looked at a second later. */
  #next(): Map<string, Waiting> {
    const free = [...this.#waiting.values()].filter(({ turn }) => !this.#taking.has(turn.endpoint.id));
    const next = new Map(nextTurns(free.map(({ turn }) => turn)).map((id) => [id, this.#waiting.get(id)!]));
    for (const id of next.keys()) this.#waiting.delete(id);
    return next;
  }

  async #takeTurns(turns: ReadonlyMap<string, Waiting>): Promise<void> {
    const taken = this.#take([...turns.keys()]);
    const ended = taken.catch(() => undefined);
    for (const id of turns.keys()) this.#taking.set(id, ended);
    try {
      await taken;
      for (const { over } of turns.values()) over.resolve();
    } catch (error) {
      for (const { over } of turns.values()) over.reject(error);
    } finally {
      for (const id of turns.keys()) this.#taking.delete(id);
    }
  }
}
