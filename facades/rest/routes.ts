/**
 * The REST surface under /v1 (docs/reference/management.md#operations): all operations, and the description of them.
 */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import type { FastifyInstance } from 'fastify';
import type { FacadeConfig } from '../config.ts';
import type { CoreClient } from '../core-client/core-client.ts';
import type { GateParts } from '../plugins/authenticate.ts';
import { restGate } from '../plugins/authenticate.ts';
import { docsPage } from '../plugins/docs-page.ts';
import { handleErrors, restErrorShape } from '../plugins/errors/error-handler.ts';
import type { AnswerBudget } from '../plugins/limits/answer-budget.ts';
import type { BodyWork } from '../plugins/limits/body-work.ts';
import { EndpointCreateInput, EndpointRecord, EndpointUpdateInput } from '../resources/endpoints/endpoint-schemas.ts';
import { PodRecord } from '../resources/pods/pod-record.ts';
import { RegistryAuthCreateInput, RegistryAuthRecord } from '../resources/registry-auths/registry-auth-schemas.ts';
import { TemplateCreateInput, TemplateRecord, TemplateUpdateInput } from '../resources/templates/template-schemas.ts';
import {
  NetworkVolumeCreateInput,
  NetworkVolumeRecord,
  NetworkVolumeUpdateInput,
} from '../resources/volumes/volume-schemas.ts';
import { BillingRecord, VolumeBillingRecord } from './billing/billing-schemas.ts';
import { endpointBilling } from './billing/endpoint-billing.ts';
import { podBilling } from './billing/pod-billing.ts';
import { volumeBilling } from './billing/volume-billing.ts';
import { DESCRIBED_PAGE, describeRoutes, openapi } from './docs/openapi.ts';
import { deleteEndpoint } from './endpoints/delete-endpoint.ts';
import { endpointMetrics } from './endpoints/endpoint-metrics.ts';
import { createEndpoint, getEndpoint } from './endpoints/endpoints.ts';
import { listEndpoints } from './endpoints/list-endpoints.ts';
import { updateEndpoint } from './endpoints/update-endpoint.ts';
import { ListQueue } from './list-queue.ts';
import { nameIgnored } from './name-ignored.ts';
import { actOnPod } from './pods/act-on-pod.ts';
import { PodCreateInput, PodUpdateInput } from './pods/pod-inputs.ts';
import { createPod, deletePod, getPod, listPods } from './pods/pods.ts';
import { updatePod } from './pods/update-pod.ts';
import { REST_BODY_BYTES_MAX, readJson } from './read-json.ts';
import {
  createRegistryAuth,
  deleteRegistryAuth,
  getRegistryAuth,
  listRegistryAuths,
} from './registry-auths/registry-auths.ts';
import type { RestApp, RestParts } from './rest-parts.ts';
import { RestError } from './rest-parts.ts';
import { createTemplate, deleteTemplate, getTemplate, listTemplates } from './templates/templates.ts';
import { updateTemplate } from './templates/update-template.ts';
import { updateVolume } from './volumes/update-volume.ts';
import { createVolume, deleteVolume, getVolume, listVolumes } from './volumes/volumes.ts';

/** Dependencies of the surface. */
interface RestSurface {
  core: CoreClient;
  answers: AnswerBudget;
  bodies: BodyWork;
  config: FacadeConfig;
  clock: Clock;
  logger: Logger;
  gate: GateParts;
}

const SHAPES = [
  RestError,
  TemplateRecord,
  TemplateCreateInput,
  TemplateUpdateInput,
  NetworkVolumeRecord,
  NetworkVolumeCreateInput,
  NetworkVolumeUpdateInput,
  RegistryAuthRecord,
  RegistryAuthCreateInput,
  PodRecord,
  PodCreateInput,
  PodUpdateInput,
  EndpointRecord,
  EndpointCreateInput,
  EndpointUpdateInput,
  BillingRecord,
  VolumeBillingRecord,
];
const ROUTES = [
  createPod,
  listPods,
  getPod,
  updatePod,
  actOnPod,
  deletePod,
  createEndpoint,
  listEndpoints,
  getEndpoint,
  endpointMetrics,
  updateEndpoint,
  deleteEndpoint,
  createVolume,
  listVolumes,
  getVolume,
  updateVolume,
  deleteVolume,
  createTemplate,
  listTemplates,
  getTemplate,
  updateTemplate,
  deleteTemplate,
  createRegistryAuth,
  listRegistryAuths,
  getRegistryAuth,
  deleteRegistryAuth,
  podBilling,
  endpointBilling,
  volumeBilling,
];

/** Adds the REST routes. */
export async function restRoutes(plain: FastifyInstance, surface: RestSurface): Promise<void> {
  const { core, answers, bodies, config, clock, logger, gate } = surface;
  const app: RestApp = plain.withTypeProvider<TypeBoxTypeProvider>();
  handleErrors(plain, restErrorShape, logger);
  answers.rejectOverBudget(plain);
  await describeRoutes(app);
  for (const shape of SHAPES) app.addSchema(shape);
  openapi(app);
  await docsPage(plain, { path: '/v1/docs', title: 'Slipway API', schema: DESCRIBED_PAGE });
  const parts: RestParts = {
    core,
    budget: {
      answers,
      queue: new ListQueue(clock),
      rest: async (accountId, tookMs) => gate.rateLimit?.rest(accountId, tookMs),
      clock,
    },
    config,
    logger,
    gate: restGate(gate, REST_BODY_BYTES_MAX),
    readJson: readJson(bodies, nameIgnored(SHAPES)),
  };
  for (const add of ROUTES) add(app, parts);
}
