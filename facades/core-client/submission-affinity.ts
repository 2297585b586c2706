/**
 * Which replica of core gets the submissions of an endpoint: for a moment one alone, then the next, of those whose machines took its last job at once.
 * There a job is stored and claimed in one statement, which all that come together share. Spread one by one, submissions make batches of a third, and
 * where only one replica has a free worker two thirds wait for its claim.
 */
import { boundedCache } from '../../core/runtime/bounded-cache.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { JobState } from '../../proto/gen/slipway/v1/job.ts';
import type { PipelineReply } from '../../proto/gen/slipway/v1/job_service.ts';
import type { PipelineLink } from './pipeline-link.ts';

/** Endpoints that are remembered; one that was forgotten begins anew. */
const ENDPOINTS_MAX = 10_000;
/** How long one replica gets all, in milliseconds: long enough for whole batches, short enough that all machines get their share. */
const STAY_MS = 100;
/** A replica that had no free worker is asked again after this many milliseconds, unless no other has one either. */
const AVOID_MS = 1_000;
/** Unanswered calls of a replica from which on jobs go where fewest are: one core alone no longer keeps up, and batches are large anyway. */
const CALLS_MANY = 256;

interface Affinity {
  link: PipelineLink;
  /** Since when, in steady milliseconds. */
  sinceMs: number;
  /** When a job had to wait at a replica. */
  waitedMs: Map<PipelineLink, number>;
}

export class SubmissionAffinity {
  readonly #links: readonly PipelineLink[];
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #homes = boundedCache<string, Affinity>(ENDPOINTS_MAX);
  #turn = 0;

  constructor(links: readonly PipelineLink[], clock: Pick<Clock, 'monotonicMs'>) {
    this.#links = links;
    this.#clock = clock;
  }

  /** The link for a submission to this endpoint; undefined while none can take calls. */
  pick(endpointId: string): PipelineLink | undefined {
    if (this.#links.length === 1) return this.#links[0]!.isReady ? this.#links[0] : undefined;
    const home = this.#homes.get(endpointId);
    const stays = home?.link.isReady && this.#clock.monotonicMs() - home.sinceMs < STAY_MS;
    const link = stays ? home.link : this.#move(endpointId, home);
    return link === undefined || link.load < CALLS_MANY ? link : this.#leastBusy();
  }

  /** A submission over this link was answered, which says whether a worker took the job at once. */
  recordReply(endpointId: string, link: PipelineLink, { reply, wasQueued }: PipelineReply): void {
    const home = this.#homes.get(endpointId);
    if (!home || reply?.$case === 'error') return;
    if (wasQueued || (reply?.$case === 'submit' && reply.value.job?.state === JobState.IN_QUEUE)) home.waitedMs.set(link, this.#clock.monotonicMs());
    else home.waitedMs.delete(link);
  }

  /** To the next in turn where no job waited lately; where all let jobs wait, to the next. */
  #move(endpointId: string, home: Affinity | undefined): PipelineLink | undefined {
    const nowMs = this.#clock.monotonicMs();
    const after = home ? this.#links.indexOf(home.link) : this.#turn++;
    const inTurn = this.#links.map((_, step) => this.#links[(after + 1 + step) % this.#links.length]!).filter((link) => link.isReady);
    const link = inTurn.find((one) => nowMs - (home?.waitedMs.get(one) ?? -Infinity) > AVOID_MS) ?? inTurn[0];
    if (link) this.#homes.set(endpointId, { link, sinceMs: nowMs, waitedMs: home?.waitedMs ?? new Map() });
    return link;
  }

  #leastBusy(): PipelineLink | undefined {
    return this.#links.filter((link) => link.isReady).toSorted((a, b) => a.load - b.load)[0];
  }
}
