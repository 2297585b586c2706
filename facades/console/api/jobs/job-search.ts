/** The page of the jobs of all endpoints, and the way to a job by its id alone. */

import { SearchJobsRequest } from '@slipway/proto/gen/slipway/v1/job_service';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import { stateName, stateOf, submittedOf } from '../../../jobs/job-selection.ts';
import type { ConsoleParts } from '../../console-parts.ts';
import type { FeedSource } from '../../live-feeds.ts';
import type { AllJobsView, JobPlaceView } from '../../views-of-jobs.ts';
import { optionsOf } from '../list-query.ts';
import { jobRow } from './job-list.ts';

/** Parameters of the query that select jobs. `among`: text of an endpoint's name, or its id. */
export const SEARCHED = ['status', 'among', 'metadata', 'submittedFrom', 'cursor'] as const;

/** A search. Empty texts select nothing. */
export type SearchedJobs = Readonly<Record<(typeof SEARCHED)[number], string>>;

/** Rows of a page. */
const PAGE_SIZE = 50;

/** Returns the feed. Counts come with the first page. */
export function allJobsPage({ core, clock }: ConsoleParts, apiKey: string, query: SearchedJobs): FeedSource {
  const pairs = pairsOf(query.metadata);
  const read = async (signal: AbortSignal): Promise<AllJobsView> => {
    const request = SearchJobsRequest.fromPartial({
      ...{ endpoint: query.among, state: stateOf(query.status), limit: PAGE_SIZE, pageToken: query.cursor },
      ...{ metadata: pairs && { pairs }, submittedFrom: submittedOf(query, clock.nowMs()).submittedFrom },
      withCounts: query.cursor === '',
    });
    const options = { apiKey, repeatable: true, signal };
    const found = await core.jobs.call((client) => client.searchJobs, request, options);
    return {
      nowMs: clock.nowMs(),
      jobs: found.jobs.map((job) => ({
        ...jobRow(job),
        endpointId: job.endpointId,
        endpointName: found.endpointNames[job.endpointId] ?? job.endpointId,
        metadata: job.metadata?.pairs ?? {},
      })),
      nextCursor: found.nextPageToken,
      counts: found.counts.map(({ state, count, capped }) => ({ state: stateName(state) ?? '', count, capped })),
    };
  };
  return { read };
}

/** Adds the route that finds the endpoint of a job. */
export function jobSearchRoutes(
  app: FastifyInstance,
  { core }: ConsoleParts,
  onRequest: onRequestAsyncHookHandler,
): void {
  app.get('/console/api/jobs/:jobId', { onRequest }, async (request): Promise<JobPlaceView> => {
    const { jobId } = request.params as { jobId: string };
    const asked = SearchJobsRequest.fromPartial({ jobId, limit: 1 });
    const { jobs } = await core.jobs.call((client) => client.searchJobs, asked, optionsOf(request));
    if (jobs[0]) return { endpointId: jobs[0].endpointId, jobId };
    throw new CoreError(
      'JOB_NOT_FOUND',
      'No endpoint has a job with this id: it was never submitted, was purged or has expired.',
    );
  });
}

/** Returns the pairs of `key=value`, several with a space between. `undefined` if there are none. */
function pairsOf(text: string): Record<string, string> | undefined {
  const parts = text.trim() === '' ? [] : text.trim().split(/\s+(?=[^\s=]+=)/);
  if (parts.length === 0) return undefined;
  return Object.fromEntries(
    parts.map((part) => {
      const equals = part.indexOf('=');
      if (equals < 1) throw new CoreError('INVALID_REQUEST', 'Metadata is found by key=value, for example order=1042.');
      return [part.slice(0, equals), part.slice(equals + 1)];
    }),
  );
}
