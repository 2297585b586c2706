/** GET /console/api/live: one event feed for a tab, of the page that it shows. */
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import { CoreError } from '../../../proto/wire/reason.ts';
import { LiveResponse } from '../../jobs/live-response.ts';
import { isId } from '../../plugins/authenticate.ts';
import { isOperator } from '../console-parts.ts';
import type { ConsoleParts } from '../console-parts.ts';
import type { FeedSource } from '../live-feeds.ts';
import { pageAsked } from './list-query.ts';
import { endpointPage } from './endpoint-page.ts';
import { jobPage } from './job-why.ts';
import { machinePage } from './machine-page.ts';
import { accountOverview, operatorOverview } from './overview.ts';
import { podPage } from './pods.ts';

/** Endpoints or machines of a feed. */
const ROWS_MAX = 100;

/** Letters of a machine's name that one may look for. */
const NAME_LENGTH_MAX = 255;

/** Adds the route. Query: `endpoint` and `job`, or `pod`, or `machine`, its id or name, or none for the overview, of which a page is shown (list-query.ts). */
export function liveRoute(app: FastifyInstance, parts: ConsoleParts, onRequest: onRequestAsyncHookHandler): void {
  app.get('/console/api/live', { onRequest }, async (request, reply) => {
    const { endpoint = '', job = '', pod = '', machine = '' } = request.query as Record<string, unknown>;
    if (typeof endpoint !== 'string' || (endpoint !== '' && !isId(endpoint))) throw new CoreError('ENDPOINT_NOT_FOUND', 'There is no such endpoint.');
    if (typeof job !== 'string' || (job !== '' && !isId(job))) throw new CoreError('JOB_NOT_FOUND', 'There is no such job.');
    if (typeof pod !== 'string' || (pod !== '' && !isId(pod))) throw new CoreError('NOT_FOUND', 'There is no such pod.');
    if (typeof machine !== 'string' || machine.length > NAME_LENGTH_MAX) throw new CoreError('NOT_FOUND', 'There is no such machine.');
    const { apiKey } = request.caller;
    const operator = isOperator(request);
    const asked = pageAsked(request);
    if (asked.pageSize > ROWS_MAX) throw new CoreError('INVALID_REQUEST', `"size" of a feed must be at most ${ROWS_MAX}.`);
    const open = (): FeedSource => {
      if (machine !== '') return machinePage(parts, apiKey, machine);
      if (pod !== '') return podPage(parts, apiKey, pod);
      if (job !== '') return jobPage(parts, apiKey, endpoint, job);
      if (endpoint !== '') return endpointPage(parts, apiKey, operator, endpoint);
      return operator ? operatorOverview(parts, apiKey, asked) : accountOverview(parts, apiKey, asked);
    };
    const page = machine !== '' ? `machine ${machine}` : `${endpoint} ${job} ${pod} ${endpoint === '' && pod === '' ? JSON.stringify(asked) : ''}`;
    await parts.feeds.follow({ accountId: request.caller.accountId, apiKey, page }, open, new LiveResponse(reply));
    return reply;
  });
}
