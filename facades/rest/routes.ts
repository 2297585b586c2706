/** The REST surface under /v1: endpoints and templates (compat.md 3.2), and the description of both. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import type { Logger } from '../../core/runtime/logger.ts';
import type { FacadeConfig } from '../config.ts';
import type { CoreClient } from '../core-client/core-client.ts';
import { restGate } from '../plugins/authenticate.ts';
import type { GateParts } from '../plugins/authenticate.ts';
import { handleErrors, restErrorShape } from '../plugins/error-handler.ts';
import { createEndpoint } from './endpoints/create-endpoint.ts';
import { createTemplate } from './templates/create-template.ts';
import { deleteEndpoint } from './endpoints/delete-endpoint.ts';
import { deleteTemplate } from './templates/delete-template.ts';
import { EndpointCreateInput, EndpointRecord, EndpointUpdateInput } from './endpoints/endpoint-schemas.ts';
import { getEndpoint } from './endpoints/get-endpoint.ts';
import { getTemplate } from './templates/get-template.ts';
import { listEndpoints } from './endpoints/list-endpoints.ts';
import { listTemplates } from './templates/list-templates.ts';
import { describeRoutes, openapi } from './docs/openapi.ts';
import { readJson, REST_BODY_BYTES_MAX } from './read-json.ts';
import { RestError } from './rest-parts.ts';
import type { RestApp, RestParts } from './rest-parts.ts';
import { TemplateCreateInput, TemplateRecord, TemplateUpdateInput } from './templates/template-schemas.ts';
import { updateEndpoint } from './endpoints/update-endpoint.ts';
import { updateTemplate } from './templates/update-template.ts';

/** What the surface needs. */
export interface RestSurface {
  core: CoreClient;
  config: FacadeConfig;
  logger: Logger;
  gate: GateParts;
}

const SHAPES = [
  RestError, TemplateRecord, TemplateCreateInput, TemplateUpdateInput, EndpointRecord, EndpointCreateInput, EndpointUpdateInput,
];
const ROUTES = [
  createEndpoint, listEndpoints, getEndpoint, updateEndpoint, deleteEndpoint,
  createTemplate, listTemplates, getTemplate, updateTemplate, deleteTemplate,
];

/** Adds the REST routes. */
export async function restRoutes(plain: FastifyInstance, { core, config, logger, gate }: RestSurface): Promise<void> {
  const app: RestApp = plain.withTypeProvider<TypeBoxTypeProvider>();
  handleErrors(plain, restErrorShape, logger);
  await describeRoutes(app);
  for (const shape of SHAPES) app.addSchema(shape);
  openapi(app);
  const parts: RestParts = { core, config, logger, gate: restGate(gate, REST_BODY_BYTES_MAX), readJson };
  for (const add of ROUTES) add(app, parts);
}
