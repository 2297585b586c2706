/**
 * Picks the core replica for submissions of an endpoint: one replica for a short time, then the next one whose
 * machines take jobs at once. There a job is stored and claimed in one batched statement. Spreading submissions one
 * by one makes batches a third as large, and most jobs wait for a claim elsewhere.
 */
import { boundedCache } from '@slipway/kit/bytes/bounded-cache';
import type { Clock } from '@slipway/kit/time/clock';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import type { PipelineReply } from '@slipway/proto/gen/slipway/v1/job_service';
import type { PipelineLink } from './pipeline-link.ts';

/** Most endpoints in the cache. */
const ENDPOINTS_MAX = 10_000;
/** How long one replica gets all submissions, in milliseconds. */
const STAY_MS = 100;
/** How long a replica without a free worker is avoided, in milliseconds, unless no other has one. */
const AVOID_MS = 1_000;
/** Unanswered calls from which on the least loaded replica is used. */
const CALLS_MANY = 256;

interface Affinity {
  link: PipelineLink;
  /** Start time, in monotonic milliseconds. */
  sinceMs: number;
  /** Time at which a job last had to wait, by replica. Keeps no link to a replica that has left. */
  waitedMs: WeakMap<PipelineLink, number>;
}

export class SubmissionAffinity {
  readonly #links: readonly PipelineLink[];
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #homes = boundedCache<string, Affinity>(ENDPOINTS_MAX);
  #nextIndex = 0;

  constructor(links: readonly PipelineLink[], clock: Pick<Clock, 'monotonicMs'>) {
    this.#links = links;
    this.#clock = clock;
  }

  /** Returns the link for a submission. `undefined` if none can take calls. */
  pick(endpointId: string): PipelineLink | undefined {
    if (this.#links.length === 1) return this.#links[0]!.isReady ? this.#links[0] : undefined;
    const home = this.#homes.get(endpointId);
    const stays = home?.link.isReady && this.#clock.monotonicMs() - home.sinceMs < STAY_MS;
    const link = stays ? home.link : this.#move(endpointId, home);
    return link === undefined || link.load < CALLS_MANY ? link : this.#leastBusy();
  }

  /** Records the reply to a submission: it shows whether a worker took the job at once. */
  recordReply(endpointId: string, link: PipelineLink, { reply, wasQueued }: PipelineReply): void {
    const home = this.#homes.get(endpointId);
    if (!home || reply?.$case === 'error') return;
    if (wasQueued || (reply?.$case === 'submit' && reply.value.job?.state === JobState.IN_QUEUE))
      home.waitedMs.set(link, this.#clock.monotonicMs());
    else home.waitedMs.delete(link);
  }

  /** Moves to the next replica where no job waited lately, or to the next one. */
  #move(endpointId: string, home: Affinity | undefined): PipelineLink | undefined {
    const nowMs = this.#clock.monotonicMs();
    const after = home ? this.#links.indexOf(home.link) : this.#nextIndex++;
    const candidates = this.#links
      .map((_, step) => this.#links[(after + 1 + step) % this.#links.length]!)
      .filter((link) => link.isReady);
    const link = candidates.find((one) => nowMs - (home?.waitedMs.get(one) ?? -Infinity) > AVOID_MS) ?? candidates[0];
    if (link) this.#homes.set(endpointId, { link, sinceMs: nowMs, waitedMs: home?.waitedMs ?? new WeakMap() });
    return link;
  }

  #leastBusy(): PipelineLink | undefined {
    return this.#links.filter((link) => link.isReady).toSorted((a, b) => a.load - b.load)[0];
  }
}
