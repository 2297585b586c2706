/** Groups the errors of an endpoint's failed jobs. */

import type { Clock } from '@slipway/kit/time/clock';
import { inSlices } from '@slipway/kit/time/in-slices';
import type { ErrorGroup } from '../../domain/jobs/error-groups.ts';
import { checkGroupId, ErrorGroups, errorSpanMs } from '../../domain/jobs/error-groups.ts';
import type { FailedSlice } from '../../store/jobs/failed-jobs.ts';
import type { Stores } from '../../store/storage.ts';

/** Groups of the newest failed jobs. */
export interface FoundErrors {
  groups: ErrorGroup[];
  groupCount: number;
  jobs: number;
  /** True if older failed jobs were not examined. */
  more: boolean;
}

/** Selects errors. */
export interface ErrorsRequest {
  /** How far back the jobs ended, in milliseconds; 0 means a day. */
  spanMs: number;
  /** Only this group, with the ids of all its jobs; empty for all groups. */
  groupId: string;
}

/** Jobs of one slice, and of all slices of a call. */
const SLICE = 500;
const JOBS_MAX = 10_000;
/** Bytes of errors that one call reads. */
export const ERROR_BYTES_MAX = 64 * 1024 * 1024;

interface JobErrorsOptions {
  stores: Pick<Stores, 'jobs'>;
  clock: Clock;
}

export class JobErrors {
  readonly #options: JobErrorsOptions;

  constructor(options: JobErrorsOptions) {
    this.#options = options;
  }

  /** Returns the groups. Throws INVALID_REQUEST for a span out of range or an invalid group id. */
  async list(endpointId: string, { spanMs: span, groupId }: ErrorsRequest): Promise<FoundErrors> {
    const { stores, clock } = this.#options;
    const spanMs = errorSpanMs(span);
    checkGroupId(groupId, 'group_id');
    const groups = new ErrorGroups(groupId);
    let after: number | undefined;
    let scanned = 0;
    let bytes = 0;
    do {
      const slice: FailedSlice = await stores.jobs.failed(endpointId, {
        spanMs,
        after,
        limit: Math.min(SLICE, JOBS_MAX - scanned),
      });
      await inSlices(clock, slice.jobs, (job) => groups.add(job));
      scanned += slice.scanned;
      bytes += slice.bytes;
      after = slice.next;
    } while (after !== undefined && scanned < JOBS_MAX && bytes < ERROR_BYTES_MAX);
    return { ...groups.list(), more: after !== undefined };
  }
}
