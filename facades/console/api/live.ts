/** GET /console/api/live: one event feed for a tab, of the page that it shows. */

import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyInstance, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { LiveResponse } from '../../jobs/live-response.ts';
import { endpointNotFound, isId } from '../../plugins/public-id.ts';
import type { ConsoleParts } from '../console-parts.ts';
import { isOperator } from '../console-parts.ts';
import type { FeedSource } from '../live-feeds.ts';
import { decisionsPage } from './decisions.ts';
import { endpointPage } from './endpoint-page.ts';
import { ASKED, jobsPage } from './jobs/job-list.ts';
import type { SearchedJobs } from './jobs/job-search.ts';
import { allJobsPage, SEARCHED } from './jobs/job-search.ts';
import { jobPage } from './jobs/job-why.ts';
import type { PageQuery } from './list-query.ts';
import { pageAsked, textOf } from './list-query.ts';
import { machinePage } from './machine-page.ts';
import { accountOverview, operatorOverview } from './overview.ts';
import { podLog, podPage, podsPage, workerLog } from './pods.ts';

/** Endpoints, machines or pods of a feed. */
const ROWS_MAX = 100;

/** Longest name of a machine, in characters. */
const NAME_LENGTH_MAX = 255;

/** A page and its source. Feeds with the same name show the same. */
interface Followed {
  name: readonly unknown[];
  open: () => FeedSource;
}

/**
 * Adds the route. Query: `endpoint` and `job`, with the filters of its webhook calls; `endpoint` and `part` = `jobs`,
 * with which of them (job-list.ts); `endpoint` and `part` = `decisions`, with what is looked for in them; `endpoint`
 * alone; `pod`; `machine`, its id or name; `pod` or `worker` and `part` = `log`; `part` = `all-jobs` for those of all
 * endpoints (job-search.ts); `part` = `pods` for their list; or none for the overview; of these two a page is shown
 * (list-query.ts).
 */
export function liveRoute(app: FastifyInstance, parts: ConsoleParts, onRequest: onRequestAsyncHookHandler): void {
  app.get('/console/api/live', { onRequest }, async (request, reply) => {
    const { apiKey, accountId } = request.caller;
    const { name, open } = followed(request, parts);
    await parts.feeds.follow({ accountId, apiKey, page: JSON.stringify(name) }, open, new LiveResponse(reply));
    return reply;
  });
}

function followed(request: FastifyRequest, parts: ConsoleParts): Followed {
  const { apiKey } = request.caller;
  const { endpoint, job, pod, worker, machine } = idsOf(request);
  const part = textOf(request, 'part');
  if (part === 'log' && pod !== '') return { name: ['log', 'pod', pod], open: () => podLog(parts, apiKey, pod) };
  if (part === 'log' && worker !== '')
    return { name: ['log', 'worker', worker], open: () => workerLog(parts, apiKey, worker) };
  if (part === 'pods') {
    const asked = rowsAsked(request);
    return { name: ['pods', asked], open: () => podsPage(parts, apiKey, request.caller.accountId, asked) };
  }
  if (machine !== '') return { name: ['machine', machine], open: () => machinePage(parts, apiKey, machine) };
  if (pod !== '') return { name: ['pod', pod], open: () => podPage(parts, apiKey, pod) };
  if (job !== '') {
    const { view } = pageAsked(request);
    return {
      name: ['job', endpoint, job, view],
      open: () => jobPage(parts, apiKey, { endpointId: endpoint, jobId: job }, view),
    };
  }
  if (endpoint !== '' && part === 'jobs') {
    const asked = Object.fromEntries(ASKED.map((name) => [name, textOf(request, name)]));
    return { name: ['jobs', endpoint, asked], open: () => jobsPage(parts, apiKey, endpoint, asked) };
  }
  if (part === 'all-jobs') {
    const asked = Object.fromEntries(SEARCHED.map((name) => [name, textOf(request, name)]));
    return { name: ['all-jobs', asked], open: () => allJobsPage(parts, apiKey, asked as SearchedJobs) };
  }
  if (endpoint !== '' && part === 'decisions') {
    const { view } = pageAsked(request);
    return { name: ['decisions', endpoint, view], open: () => decisionsPage(parts, apiKey, endpoint, view) };
  }
  const operator = isOperator(request);
  if (endpoint !== '')
    return { name: ['endpoint', endpoint], open: () => endpointPage(parts, apiKey, operator, endpoint) };
  const asked = rowsAsked(request);
  return {
    name: ['overview', asked],
    open: () => (operator ? operatorOverview(parts, apiKey, asked) : accountOverview(parts, apiKey, asked)),
  };
}

/** Reads which page is asked for. Throws INVALID_REQUEST if it has more rows than a feed may have. */
function rowsAsked(request: FastifyRequest): PageQuery {
  const asked = pageAsked(request);
  if (asked.pageSize > ROWS_MAX)
    throw new CoreError('INVALID_REQUEST', `"size" of a feed must be at most ${ROWS_MAX}.`);
  return asked;
}

/** Reads the ids of what the page shows, empty where the query has none. Throws NOT_FOUND for a malformed id. */
function idsOf(request: FastifyRequest) {
  const { endpoint = '', job = '', pod = '', worker = '', machine = '' } = request.query as Record<string, unknown>;
  if (typeof endpoint !== 'string' || (endpoint !== '' && !isId(endpoint))) throw endpointNotFound();
  if (typeof job !== 'string' || (job !== '' && !isId(job)))
    throw new CoreError('JOB_NOT_FOUND', 'There is no such job.');
  if (typeof pod !== 'string' || (pod !== '' && !isId(pod))) throw new CoreError('NOT_FOUND', 'There is no such pod.');
  if (typeof worker !== 'string' || (worker !== '' && !isId(worker)))
    throw new CoreError('NOT_FOUND', 'There is no such worker.');
  if (typeof machine !== 'string' || machine.length > NAME_LENGTH_MAX)
    throw new CoreError('NOT_FOUND', 'There is no such machine.');
  return { endpoint, job, pod, worker, machine };
}
