/** Claims queued jobs for free slots. */

import type { TaskGroup } from '@slipway/kit/lifecycle/task-group';
import type { Tracing } from '@slipway/kit/observe/tracing';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { INLINE_INPUT_BYTES_MAX } from '../domain/jobs/job-limits.ts';
import type { Claim, ClaimedRow } from '../store/jobs/claim-store.ts';
import { persist } from '../store/sql/transient.ts';
import type { Stores } from '../store/storage.ts';
import type { EngineMeter } from './engine-meter.ts';
import type { AssignedJob, ClaimedJob, Slot } from './slots.ts';
import type { ClaimPlan, QueueCursors } from './submit/queue-cursors.ts';
import type { QueueGate } from './submit/queue-gate.ts';

interface ClaimJobsOptions {
  stores: Pick<Stores, 'claims'>;
  cursors: QueueCursors;
  gate: QueueGate;
  tasks: TaskGroup;
  /** Default: no metrics. */
  meter?: EngineMeter;
  /** Default: no traces. */
  tracing?: Tracing | undefined;
  clock: Clock;
  random: Random;
}

/** Most jobs of one claim. Longer slot lists take several claims. */
const CLAIM_ITEMS_MAX = 500;

export class ClaimJobs {
  readonly #options: ClaimJobsOptions;

  constructor(options: ClaimJobsOptions) {
    this.#options = options;
  }

  /** Implements AttemptCalls.mayClaim. */
  mayClaim(endpointId: string): boolean {
    return this.#options.cursors.wanted(endpointId);
  }

  /**
   * Implements AttemptCalls.claim. Waits while the database is unavailable: the slots are not free before it is known
   * what they hold.
   */
  async claim(endpointId: string, slots: readonly Slot[]): Promise<ClaimedJob[]> {
    const claimed: ClaimedJob[] = [];
    for (let from = 0; from < slots.length; from += CLAIM_ITEMS_MAX) {
      const some = slots.slice(from, from + CLAIM_ITEMS_MAX);
      const plan = this.#options.cursors.plan(endpointId);
      if (!plan) break;
      const claims = await this.#claimByPlan(endpointId, some, plan);
      claimed.push(...jobsOf(claims, some));
      if (claims.length < some.length) break;
    }
    return claimed;
  }

  /** Implements AttemptCalls.claimPrefetch. */
  async claimPrefetch(
    endpointId: string,
    slots: readonly Slot[],
    claimed: readonly AssignedJob[],
  ): Promise<ClaimedJob[]> {
    const plan = this.#options.cursors.plan(endpointId);
    if (!plan) return [];
    const claims = await this.#claimByPlan(
      endpointId,
      slots.slice(0, CLAIM_ITEMS_MAX),
      plan,
      claimed.map(({ jobId }) => jobId),
    );
    return jobsOf(claims, slots).map((job) => ({ ...job, prefetched: true }));
  }

  async #claimByPlan(
    endpointId: string,
    slots: readonly Slot[],
    plan: ClaimPlan,
    behind?: readonly string[],
  ): Promise<Claim[]> {
    const { cursors, gate, clock, meter, tracing } = this.#options;
    const startedAtMs = clock.monotonicMs();
    let claims: Claim[] = [];
    let asked = 0;
    try {
      claims = await this.#persist(endpointId, slots, plan, behind);
      // A prefetch claim that finds nothing does not mean that the queue is empty.
      asked = behind ? 0 : slots.length;
      return claims;
    } finally {
      const tookMs = clock.monotonicMs() - startedAtMs;
      meter?.claimed(claims.length, tookMs);
      if (tracing)
        this.#trace(
          tracing,
          claims.map(({ job }) => job),
          tookMs,
        );
      cursors.learn(endpointId, plan, { asked, claims, tookMs });
      gate.changed(endpointId, -claims.length);
    }
  }

  /** Records the claim, and how long each job waited for its first one: a later wait has no known start. */
  #trace(tracing: Tracing, jobs: readonly ClaimedRow[], tookMs: number): void {
    tracing.keep(jobs);
    tracing.batch('claim jobs', jobs, ({ traceparent }) => traceparent, this.#options.clock.nowMs() - tookMs)?.end();
    for (const { endpointId, jobId, attempt, traceparent, submittedAtMs } of jobs)
      if (submittedAtMs !== undefined && attempt === 1)
        tracing.past('wait in queue', traceparent, submittedAtMs, {
          'slipway.endpoint.id': endpointId,
          'slipway.job.id': jobId,
        });
  }

  async #persist(
    endpointId: string,
    slots: readonly Slot[],
    plan: ClaimPlan,
    behind: readonly string[] | undefined,
  ): Promise<Claim[]> {
    const { stores, clock, random, tasks } = this.#options;
    const { afterNormal, afterLow } = plan;
    const claimId = random.uuid();
    let unknown = false;
    const attempt = async (): Promise<Claim[]> => {
      // A claim whose reply was lost may have committed.
      const earlier = unknown ? await stores.claims.find(endpointId, claimId, INLINE_INPUT_BYTES_MAX) : [];
      if (earlier.length > 0) return earlier;
      const request = { endpointId, slots, claimId, afterNormal, afterLow, inputBytesMax: INLINE_INPUT_BYTES_MAX };
      return behind ? await stores.claims.claimPrefetched(request, behind) : await stores.claims.claim(request);
    };
    return await persist(attempt, {
      clock,
      random,
      forMs: Infinity,
      signal: tasks.signal,
      onFailure: () => {
        unknown = true;
      },
    });
  }
}

/** Returns the claimed jobs, each with the fence of its slot. */
function jobsOf(claims: readonly Claim[], slots: readonly Slot[]): ClaimedJob[] {
  const fences = new Map(slots.map(({ workerId, fence }) => [workerId, fence]));
  return claims.map(({ job }) => ({ ...job, fence: fences.get(job.workerId) }));
}
