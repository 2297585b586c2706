/**
 * The OpenAI surface of an account: one address for all its endpoints. The model that a request names selects the
 * endpoint (docs/reference/api.md#one-openai-address).
 */
import type { Random } from '@slipway/kit/time/clock';
import { Api } from '@slipway/proto/gen/slipway/v1/access_service';
import { EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { ModelServiceClient, ModelTarget } from '@slipway/proto/gen/slipway/v1/model_service';
import { LB_BODY_BYTES_MAX } from '@slipway/proto/wire/limits';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServiceCalls } from '../core-client/service-calls.ts';
import type { JobHandler, JobParts } from '../jobs/job-parts.ts';
import { sendJson } from '../jobs/job-parts.ts';
import { LiveResponse } from '../jobs/live-response.ts';
import type { GateParts } from '../plugins/authenticate.ts';
import { admitToEndpoint, modelGate } from '../plugins/authenticate.ts';
import { bodyBytes } from '../plugins/bodies/raw-body.ts';
import { handleErrors, openaiErrorShape } from '../plugins/errors/error-handler.ts';
import { withoutQueryKey } from '../plugins/query-key.ts';
import type { ModelRequest } from './model-request.ts';
import { readModelRequest } from './model-request.ts';
import { ModelTargets } from './model-targets.ts';
import { presentModel } from './present-models.ts';
import { answerJob, jobOf } from './routes.ts';
import type { WorkerRelay } from './worker-relay.ts';
import { sendFailure, withBody } from './worker-relay.ts';

/** Parts of the surface that do not concern jobs. */
interface AccountParts {
  models: ServiceCalls<ModelServiceClient>;
  gate: GateParts;
  forward: WorkerRelay;
  random: Random;
}

interface Parts extends JobParts, AccountParts {
  targets: ModelTargets;
}

/** Adds the routes. */
export function accountRoutes(app: FastifyInstance, jobParts: JobParts, own: AccountParts): void {
  handleErrors(app, openaiErrorShape, jobParts.logger);
  const { models, gate, random } = own;
  const resolve = (apiKey: string, model: string) =>
    models.call((client) => client.resolveModel, { model }, { apiKey, repeatable: true });
  const parts: Parts = { ...jobParts, ...own, targets: new ModelTargets(resolve, jobParts.clock, random) };
  const onRequest = modelGate(gate, LB_BODY_BYTES_MAX);
  app.get('/openai/v1/models', { onRequest }, async (request, reply) => {
    const data = (await listModels(parts, request, '')).map(presentModel);
    return sendJson(reply, JSON.stringify({ object: 'list', data }));
  });
  app.get('/openai/v1/models/*', { onRequest }, async (request, reply) => {
    const [model] = await listModels(parts, request, pathRest(request));
    return sendJson(reply, JSON.stringify(presentModel(model!)));
  });
  app.post('/openai/v1/*', { onRequest }, answer(parts));
}

/** Returns the part of the path that the star of its route matches. */
function pathRest(request: FastifyRequest): string {
  return (request.params as { '*': string })['*'];
}

async function listModels({ models }: Parts, { caller: { apiKey } }: FastifyRequest, model: string) {
  return (await models.call((client) => client.listModels, { model }, { apiKey, repeatable: true })).models;
}

function answer(parts: Parts): JobHandler {
  return async (request, reply) => {
    const live = new LiveResponse(reply);
    const prepared = await prepare(parts, request, reply, live);
    return 'forwarded' in prepared ? forwarded(prepared, parts, reply) : answerJob(parts, prepared, live, reply);
  };
}

/** A request on its way to a worker of a load-balancing endpoint. */
interface ForwardedRequest {
  forwarded: Parameters<WorkerRelay>[0];
}

/** Prepares a job or a request to forward. A separate function, so that a large body is held only until then. */
async function prepare(
  parts: Parts,
  request: FastifyRequest,
  reply: FastifyReply,
  live: LiveResponse,
): Promise<ReturnType<typeof jobOf> | ForwardedRequest> {
  const body = bodyBytes(request.body);
  const { apiKey, accountId } = request.caller;
  const path = `v1/${pathRest(request)}`;
  const endTurn = await parts.bodies.turn('openai', request, reply, body.length);
  const read = readModelRequest(path, request.sentContentType, body);
  const asked: ModelRequest = await parts.bodies.run(accountId, body.length, read);
  const target = await parts.targets.pick(apiKey, asked.model);
  const { endpointId, workerModel } = target;
  const operation = target.type === EndpointType.LB ? 'lb' : 'openai';
  await admitToEndpoint(parts.gate, request, reply, { endpointId, operation });
  if (target.type === EndpointType.LB) {
    endTurn?.();
    return forwardedTo(target, asked, request, reply);
  }
  const input = await parts.bodies.run(accountId, body.length, asked.jobInput(workerModel));
  return jobOf(parts, { request, reply, live, endpointId, input, streaming: asked.streaming, endTurn });
}

function forwardedTo(
  { endpointId, workerModel }: ModelTarget,
  { route, forwarded: bodyFor }: ModelRequest,
  request: FastifyRequest,
  reply: FastifyReply,
): ForwardedRequest {
  const { apiKey, accountId } = request.caller;
  const message = withBody(request, bodyFor(workerModel));
  const query = request.url.indexOf('?');
  const { path } = withoutQueryKey(query < 0 ? route : route + request.url.slice(query));
  const question = { apiKey, endpointId, write: true, api: Api.JOBS };
  return { forwarded: { request: message, reply: reply.raw, endpointId, path, accountId, question } };
}

async function forwarded({ forwarded: request }: ForwardedRequest, parts: Parts, reply: FastifyReply) {
  const failure = await parts.forward(request);
  if (failure?.code === 'queue_full') await parts.gate.rateLimit?.delayRejection(request.accountId, reply);
  return failure ? sendFailure(reply, failure) : reply.hijack();
}
