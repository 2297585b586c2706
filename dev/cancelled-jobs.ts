/**
 * Finds jobs that were cancelled since the last poll. Core keeps no count of them, so they are listed. Where listing
 * takes long, they are listed seldom.
 */

import type { CoreServices } from '@slipway/facades/core-client/core-services';
import type { Clock } from '@slipway/kit/time/clock';
import type { Job } from '@slipway/proto/gen/slipway/v1/job';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import { by } from './call-by.ts';

/** Most cancelled jobs of an endpoint that one poll finds: those submitted last. */
export const CANCELLED_LISTED = 20;

interface CancelledJobsOptions {
  core: CoreServices;
  apiKey: string;
  clock: Clock;
  /** Pause after a poll, as a multiple of the time that the poll took. */
  restFactor: number;
}

interface Endpoint {
  id: string;
  name: string;
}

export class CancelledJobs {
  readonly #options: CancelledJobsOptions;
  /** Time of the latest cancellation by endpoint, by core's clock. */
  readonly #latestMs = new Map<string, number>();
  #restUntilMs = 0;

  constructor(options: CancelledJobsOptions) {
    this.#options = options;
  }

  /**
   * Returns the newly cancelled jobs of each endpoint, in the order in which they were cancelled. The first poll of an
   * endpoint returns none: it only learns which jobs are old.
   */
  async poll(endpoints: readonly Endpoint[]): Promise<{ endpoint: Endpoint; jobs: Job[] }[]> {
    const { clock, restFactor } = this.#options;
    const startedMs = clock.monotonicMs();
    if (startedMs < this.#restUntilMs) return [];
    const found: { endpoint: Endpoint; jobs: Job[] }[] = [];
    for (const endpoint of endpoints) found.push({ endpoint, jobs: await this.#news(endpoint.id) });
    const endedMs = clock.monotonicMs();
    this.#restUntilMs = endedMs + (endedMs - startedMs) * restFactor;
    return found;
  }

  async #news(endpointId: string): Promise<Job[]> {
    const { core, apiKey } = this.#options;
    const request = {
      endpointId,
      state: JobState.CANCELLED,
      offset: 0,
      limit: CANCELLED_LISTED,
      pageToken: '',
      oldestFirst: false,
    };
    const { jobs } = await core.jobs.call((client) => client.listJobs, request, by(apiKey));
    const knownMs = this.#latestMs.get(endpointId) ?? Infinity;
    this.#latestMs.set(endpointId, Math.max(this.#latestMs.get(endpointId) ?? 0, ...jobs.map(cancelledMs)));
    return jobs.filter((job) => cancelledMs(job) > knownMs).sort((a, b) => cancelledMs(a) - cancelledMs(b));
  }
}

const cancelledMs = ({ finishTime }: Job): number => finishTime?.getTime() ?? 0;
