/** The live list of an endpoint's jobs on its page. */

import type { Job } from '@slipway/proto/gen/slipway/v1/job';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import { enumName } from '@slipway/proto/wire/enum-name';
import { jobSelection } from '../../../jobs/job-selection.ts';
import type { ConsoleParts } from '../../console-parts.ts';
import type { FeedSource } from '../../live-feeds.ts';
import type { JobRow, JobsView } from '../../views-of-jobs.ts';

/** Rows of a page. */
const PAGE_SIZE = 50;
/** Most characters of an error in a row. The page of the job shows all of it. */
const ERROR_MAX = 4_000;

/** Parameters of the query that select jobs. */
export const ASKED = ['status', 'order', 'submittedFrom', 'submittedUntil', 'cursor'] as const;

/** Returns the feed. `query`: facades/jobs/job-selection.ts; relative times move with the clock. */
export function jobsPage(
  { core, clock }: ConsoleParts,
  apiKey: string,
  endpointId: string,
  query: Readonly<Record<string, unknown>>,
): FeedSource {
  const read = async (signal: AbortSignal): Promise<JobsView> => {
    const selection = { endpointId, offset: 0, limit: PAGE_SIZE, ...jobSelection(query, clock.nowMs()) };
    const { jobs, total, totalCapped, nextPageToken } = await core.jobs.call((client) => client.listJobs, selection, {
      apiKey,
      repeatable: true,
      signal,
    });
    return {
      nowMs: clock.nowMs(),
      requests: jobs.map(jobRow),
      total,
      totalCapped,
      hasMore: nextPageToken !== '',
      nextCursor: nextPageToken,
    };
  };
  return { read };
}

/** Returns the row of a job. */
export function jobRow({ id, state, submitTime, delayMs, executionMs, workerId, retries, error }: Job): JobRow {
  return {
    id,
    status: enumName(JobState, state),
    submittedAt: submitTime?.toISOString() ?? '',
    retries,
    ...(delayMs === undefined ? {} : { delayTime: delayMs }),
    ...(executionMs === undefined ? {} : { executionTime: executionMs }),
    ...(workerId ? { workerId } : {}),
    ...(error === undefined ? {} : { error: shortened(error) }),
  };
}

/** Returns the most useful part of a long error: the message that SDKs write, else its end, as of a traceback. */
function shortened(error: string): string {
  if (error.length <= ERROR_MAX) return error;
  if (error.startsWith('handler: ')) return error.slice(0, ERROR_MAX);
  try {
    const { error_type: type, error_message: message } = JSON.parse(error) as Record<string, unknown>;
    if (typeof message === 'string')
      return JSON.stringify({ error_type: type, error_message: message.slice(0, ERROR_MAX) });
  } catch {
    // It is not JSON.
  }
  return error.slice(-ERROR_MAX);
}
