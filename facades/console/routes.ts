/**
 * The console at /console: the page, sign-in, and the API of the page. It makes no decisions: core provides all data
 * and performs all actions.
 */

import type { Logger } from '@slipway/kit/log/logger';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyInstance } from 'fastify';
import type { ErrorShape } from '../plugins/errors/error-handler.ts';
import { handleErrors, queueErrorShape } from '../plugins/errors/error-handler.ts';
import { REST_NAMES, withPublicNames } from '../plugins/public-names.ts';
import { alertTargetRoutes } from './api/alert-targets.ts';
import { loadHistoryRoutes } from './api/counter-history.ts';
import { decisionRoutes } from './api/decisions.ts';
import { endpointModelRoutes } from './api/endpoint/endpoint-models.ts';
import { endpointSettingsRoutes } from './api/endpoint/endpoint-settings.ts';
import { exampleInputRoutes } from './api/endpoint/example-input.ts';
import { errorRoutes } from './api/errors.ts';
import { fieldRoutes } from './api/fields.ts';
import { fleetRoutes } from './api/fleet.ts';
import { jobTimesRoutes } from './api/job-times.ts';
import { jobSearchRoutes } from './api/jobs/job-search.ts';
import { jobLogRoute, jobRoutes } from './api/jobs/job-why.ts';
import { keyRoutes } from './api/keys.ts';
import { listRoutes } from './api/lists.ts';
import { liveRoute } from './api/live.ts';
import { machineRoutes } from './api/machines.ts';
import { operatorRoutes } from './api/operator.ts';
import { podRoutes } from './api/pods.ts';
import { releaseRoutes } from './api/releases.ts';
import { requestStatsRoutes } from './api/request-stats.ts';
import { usageRoutes } from './api/usage.ts';
import { whatIfRoutes } from './api/what-if.ts';
import { assetRoutes } from './assets.ts';
import { consoleGate, otherPage, signedOut } from './console-parts.ts';
import type { SessionRoutesParts } from './session-routes.ts';
import { sessionRoutes } from './session-routes.ts';

const CANNOT_BE_TRIED =
  'This cannot be sent from here: the path begins with "/" and has at most 4,096 characters of ASCII, there are ' +
  'at most 50 headers, without headers of authentication or of the connection (Authorization, Cookie, Host, ' +
  'Content-Length, X-Forwarded-* and their like).';

/** Settings are called as in REST, as the page sends them. */
const errorShape: ErrorShape = (error) => queueErrorShape({ ...error, text: withPublicNames(error.text, REST_NAMES) });

/**
 * Adds all routes of the page. Requests to other surfaces arrive here only if they are rejected (other-surfaces.ts).
 */
export async function consoleRoutes(app: FastifyInstance, parts: SessionRoutesParts, logger: Logger): Promise<void> {
  handleErrors(app, errorShape, logger);
  app.addHook('preClose', (done) => {
    parts.feeds.close();
    done();
  });
  // Not a route inside the page, unlike other paths of the page
  app.all('/console/api/*', async () => {
    throw new CoreError('NOT_FOUND', 'The console has no such operation.');
  });
  app.all('/console/refused/page', async () => {
    throw otherPage();
  });
  app.all('/console/refused/session', async () => {
    throw signedOut();
  });
  app.all('/console/refused/request', async () => {
    throw new CoreError('INVALID_REQUEST', CANNOT_BE_TRIED);
  });
  assetRoutes(app);
  sessionRoutes(app, parts);
  app.addHook('onSend', async (request, reply) => {
    if (request.url.startsWith('/console/api')) reply.header('cache-control', 'no-store');
  });
  liveRoute(app, parts, consoleGate(parts, 'live'));
  jobLogRoute(app, parts, consoleGate(parts, 'logs'));
  const gate = consoleGate(parts, 'management');
  const all = [
    jobRoutes,
    jobSearchRoutes,
    machineRoutes,
    whatIfRoutes,
    fieldRoutes,
    fleetRoutes,
    endpointSettingsRoutes,
    endpointModelRoutes,
    exampleInputRoutes,
    keyRoutes,
    listRoutes,
    podRoutes,
    operatorRoutes,
    usageRoutes,
    releaseRoutes,
    decisionRoutes,
    jobTimesRoutes,
    loadHistoryRoutes,
    requestStatsRoutes,
    alertTargetRoutes,
    errorRoutes,
  ];
  for (const add of all) add(app, parts, gate);
}
