/** Adds the routes of all surfaces to the app: health, queue, OpenAI, REST, console and GraphQL. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { TrustedPeers } from './activator/trusted-peers.ts';
import { LiveFeeds } from './console/live-feeds.ts';
import { consoleRoutes } from './console/routes.ts';
import type { Sessions } from './console/session.ts';
import type { CoreClient } from './core-client/core-client.ts';
import type { Readiness } from './core-client/readiness.ts';
import { frontRoutes } from './front/routes.ts';
import type { GraphqlExecutor } from './graphql/executor.ts';
import { graphqlRoutes } from './graphql/routes.ts';
import { endpointBatchRoutes } from './jobs/endpoint-batches.ts';
import type { JobParts } from './jobs/job-parts.ts';
import { accountRoutes } from './openai/account-routes.ts';
import { batchRoutes } from './openai/batch-routes.ts';
import { openaiRoutes } from './openai/routes.ts';
import type { UploadParts } from './openai/upload-body.ts';
import type { WorkerRelay } from './openai/worker-relay.ts';
import type { GateParts } from './plugins/authenticate.ts';
import type { UnroutedHandler } from './plugins/errors/unknown-route.ts';
import { AddressRate } from './plugins/limits/address-rate.ts';
import { logs } from './queue/logs.ts';
import { queueRoutes } from './queue/routes.ts';
import { restRoutes } from './rest/routes.ts';
import { restV2Routes } from './rest-v2/routes.ts';

/** Dependencies of the surfaces. */
interface SurfaceParts extends Omit<JobParts, 'jobs' | 'endpoints'> {
  core: CoreClient;
  gate: GateParts;
  sessions: Sessions;
  peers: TrustedPeers;
  executor: GraphqlExecutor;
  readiness: Readiness;
  rejectUnrouted: UnroutedHandler;
  forward: WorkerRelay;
  uploads: UploadParts;
}

/** Adds all routes, after the hooks of the app. */
export function addSurfaces(app: FastifyInstance, parts: SurfaceParts): void {
  const {
    core,
    keys,
    answers,
    bodies,
    config,
    clock,
    random,
    logger,
    gate,
    sessions,
    peers,
    executor,
    readiness,
    rejectUnrouted,
    forward,
    uploads,
  } = parts;
  const queue: JobParts = {
    jobs: core.pipelined,
    endpoints: core.endpoints,
    keys,
    answers,
    bodies,
    config,
    clock,
    random,
    logger,
  };
  app.register(async (scope) => frontRoutes(scope, { ready: () => readiness.ready() }));
  app.register(async (scope) => queueRoutes(scope, queue, gate));
  app.register(async (scope) => openaiRoutes(scope, queue, gate));
  app.register(async (scope) => accountRoutes(scope, queue, { models: core.models, gate, forward, random }));
  const batches = { answers, bodies, uploads, logger, gate, files: core.files, batches: core.batches };
  app.register(async (scope) => batchRoutes(scope, batches));
  app.register(async (scope) => endpointBatchRoutes(scope, batches));
  app.register(async (scope) => restRoutes(scope, { core, answers, bodies, config, clock, logger, gate }));
  app.register(async (scope) =>
    restV2Routes(scope, { core, answers, bodies, config, clock, logger }, gate, rejectUnrouted),
  );
  const console = { core, gate, sessions, answers, feeds: new LiveFeeds(clock), jobLog: logs(queue), clock, peers };
  app.register(async (scope) => consoleRoutes(scope, console, logger));
  const addresses = new AddressRate(clock);
  const keyless = ({ raw }: FastifyRequest): void => {
    peers.clean(raw);
    addresses.admit(peers.clientOf(raw));
  };
  app.register(async (scope) => graphqlRoutes(scope, { executor, answers, bodies, gate, keyless, logger }));
}
