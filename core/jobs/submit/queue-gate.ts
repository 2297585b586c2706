/**
 * Rejects submissions to a queue that is too long (docs/reference/api.md#queue-length), and of an account whose quota
 * of queued jobs is used up.
 */

import { Batcher } from '@slipway/kit/bytes/batcher';
import { boundedCache } from '@slipway/kit/bytes/bounded-cache';
import type { Clock } from '@slipway/kit/time/clock';
import type { LRUCache } from 'lru-cache';
import { queueLengthMax } from '../../domain/jobs/queue-limit.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import type { EndpointFacts } from '../../store/jobs/count-store.ts';
import type { Stores } from '../../store/storage.ts';
import { QueueCount } from './queue-count.ts';

const ENTRIES_MAX = 20_000;
/** Most queues that one statement counts, and most queues that wait to be counted. */
const BATCH_MAX = 500;
const WAITING_MAX = 50_000;

/** Counts are refreshed at least once a second while they are used. */
export class QueueGate {
  readonly #counts: Stores['counts'];
  readonly #clock: Clock;
  readonly #lengths: Batcher<string, number>;
  readonly #endpoints = boundedCache<string, QueueCount>(ENTRIES_MAX);
  /** Counts of accounts that have a quota. */
  readonly #accounts = boundedCache<string, QueueCount>(ENTRIES_MAX);
  /** The account of each endpoint whose account has a quota. */
  readonly #accountOf = boundedCache<string, string>(ENTRIES_MAX);

  constructor({ counts }: Pick<Stores, 'counts'>, clock: Clock) {
    this.#counts = counts;
    this.#clock = clock;
    const flush = (endpointIds: readonly string[]): Promise<number[]> => counts.queued(endpointIds);
    this.#lengths = new Batcher({ name: 'queue lengths', clock, itemsMax: BATCH_MAX, waitingMax: WAITING_MAX, flush });
  }

  /**
   * Admits a submission, without a promise if the counts are fresh. Throws QUEUE_FULL if the queue is too long or the
   * account's quota is used up.
   */
  admit(facts: EndpointFacts): void | Promise<void> {
    const admitted = this.#admitEndpoint(facts);
    const quota = facts.queuedJobQuota;
    if (quota === null) {
      this.#accountOf.delete(facts.id);
      return admitted;
    }
    return admitted ? admitted.then(() => this.#admitAccount(facts, quota)) : this.#admitAccount(facts, quota);
  }

  /** Adds the jobs queued (positive) or claimed (negative) here. */
  changed(endpointId: string, count: number): void {
    this.#endpoints.get(endpointId)?.changed(count);
    const accountId = this.#accountOf.get(endpointId);
    if (accountId !== undefined) this.#accounts.get(accountId)?.changed(count);
  }

  /** Drops the count after a purge: the old count would reject submissions to an empty queue. */
  forget(endpointId: string): void {
    this.#endpoints.delete(endpointId);
    const accountId = this.#accountOf.get(endpointId);
    if (accountId !== undefined) this.#accounts.delete(accountId);
  }

  #admitEndpoint({ id, workersMax }: EndpointFacts): void | Promise<void> {
    const max = queueLengthMax(workersMax);
    const counted = this.#of(this.#endpoints, id, () => this.#lengths.add(id));
    return counted.admit(
      max,
      () =>
        new DomainError(
          'QUEUE_FULL',
          `The endpoint has more than ${max} queued jobs, which is the most for its ` +
            `workersMax of ${workersMax}. Try again later, raise workersMax or purge the queue.`,
        ),
    );
  }

  /** Throws QUEUE_FULL if the account's quota is used up. A quota of 5 admits 5 jobs and rejects the sixth. */
  #admitAccount({ id, accountId }: EndpointFacts, quota: number): void | Promise<void> {
    this.#accountOf.set(id, accountId);
    const counted = this.#of(this.#accounts, accountId, () => this.#counts.queuedOfAccount(accountId));
    return counted.admit(
      quota - 1,
      () =>
        new DomainError(
          'QUEUE_FULL',
          `The account's quota of ${quota} queued jobs is used up. Try again later, ` +
            'purge a queue, or ask the operator for more.',
        ),
    );
  }

  #of(counts: LRUCache<string, QueueCount>, name: string, read: () => Promise<number>): QueueCount {
    let count = counts.get(name);
    if (!count) {
      counts.set(name, (count = new QueueCount(this.#clock, read)));
    }
    return count;
  }
}
