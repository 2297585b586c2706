/** Endpoints as their owner creates and changes them: settings together with the endpoint's own template. */

import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { OwnTemplate } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import type { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyInstance, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { endpointIdInPath } from '../../../plugins/public-id.ts';
import { copyOfEndpoint } from '../../../resources/endpoints/copy-endpoint.ts';
import { ENDPOINT } from '../../../resources/endpoints/endpoint-table.ts';
import { restChanges, restRecord } from '../../../resources/rest-values.ts';
import { OWN_TEMPLATE, ownTemplateOf } from '../../../resources/templates/own-template.ts';
import { checkedSettings } from '../../checked-settings.ts';
import type { ConsoleParts } from '../../console-parts.ts';
import { settingsOf } from '../../read-settings.ts';
import type { EndpointSettingsView, MadeView } from '../../views-of-settings.ts';
import { optionsOf } from '../list-query.ts';

const REQUEST_ID_LENGTH_MAX = 64;

/**
 * Adds the routes. Bodies: `settings` and, for the endpoint's own template, `template`, both by their names in REST.
 * Creations take a `requestId`, so that a repeat creates nothing.
 */
export function endpointSettingsRoutes(
  app: FastifyInstance,
  { core }: ConsoleParts,
  onRequest: onRequestAsyncHookHandler,
): void {
  const read = async (request: FastifyRequest): Promise<Endpoint> => {
    const asked = { id: endpointIdInPath(request), includeTemplate: true };
    const { endpoint } = await core.endpoints.call((client) => client.getEndpoint, asked, optionsOf(request));
    return endpoint!;
  };
  app.post('/console/api/endpoints', { onRequest }, async (request): Promise<MadeView> => {
    const body = settingsOf(request);
    const { changes } = restChanges<Endpoint>(ENDPOINT, checkedSettings(ENDPOINT, body['settings']));
    const asked = {
      endpoint: Endpoint.fromPartial(changes),
      requestId: requestIdOf(body),
      workersMax: changes.workersMax,
      retryLimit: changes.retryLimit,
      ownTemplate: templateOf(body),
    };
    const { endpoint } = await core.endpoints.call((client) => client.createEndpoint, asked, optionsOf(request));
    return { id: endpoint!.id };
  });
  app.post('/console/api/endpoints/:id/duplicate', { onRequest }, async (request): Promise<MadeView> => {
    const body = settingsOf(request);
    const { name } = body;
    if (typeof name !== 'string' || name === '') throw new CoreError('INVALID_REQUEST', 'The copy needs a name.');
    const asked = { ...copyOfEndpoint(await read(request), name), requestId: requestIdOf(body) };
    const { endpoint } = await core.endpoints.call((client) => client.createEndpoint, asked, optionsOf(request));
    return { id: endpoint!.id };
  });
  app.get('/console/api/endpoints/:id/settings', { onRequest }, async (request) => view(await read(request)));
  app.patch('/console/api/endpoints/:id/settings', { onRequest }, async (request) => {
    const body = settingsOf(request);
    const { changes, mask } = restChanges<Endpoint>(ENDPOINT, checkedSettings(ENDPOINT, body['settings'] ?? {}));
    const endpoint = Endpoint.fromPartial({ ...changes, id: endpointIdInPath(request) });
    const asked = { endpoint, updateMask: mask, ownTemplate: templateOf(body) };
    await core.endpoints.call((client) => client.updateEndpoint, asked, optionsOf(request));
    return view(await read(request));
  });
  app.post('/console/api/endpoints/:id/restart', { onRequest }, async (request): Promise<MadeView> => {
    const id = endpointIdInPath(request);
    const options = { ...optionsOf(request), repeatable: false };
    await core.endpoints.call((client) => client.restartEndpoint, { id }, options);
    return { id };
  });
  app.post('/console/api/endpoints/:id/rollback', { onRequest }, async (request): Promise<MadeView> => {
    const id = endpointIdInPath(request);
    const { version } = settingsOf(request);
    if (!Number.isInteger(version)) throw new CoreError('INVALID_REQUEST', '"version" must be a whole number.');
    const asked = { id, version: version as number };
    await core.endpoints.call((client) => client.rollBackEndpoint, asked, optionsOf(request));
    return { id };
  });
}

function requestIdOf({ requestId = '' }: Record<string, unknown>): string {
  if (typeof requestId === 'string' && requestId.length <= REQUEST_ID_LENGTH_MAX) return requestId;
  throw new CoreError('INVALID_REQUEST', `"requestId" must be a text of at most ${REQUEST_ID_LENGTH_MAX} characters.`);
}

/** Returns the endpoint's own template. `undefined` if the body has none. */
function templateOf({ template }: Record<string, unknown>): OwnTemplate | undefined {
  if (template === undefined) return undefined;
  const { changes, mask } = restChanges<Template>(OWN_TEMPLATE, checkedSettings(OWN_TEMPLATE, template));
  return ownTemplateOf(changes, mask);
}

/** Returns the endpoint for the page. With its own template, all variables are shown as the template's. */
function view(endpoint: Endpoint): EndpointSettingsView {
  const { template } = endpoint;
  const modelWeight = endpoint.modelWeight ?? ENDPOINT.modelWeight.rule.default;
  const settings = restRecord(ENDPOINT, { ...endpoint, modelWeight });
  if (!template) throw new CoreError('INTERNAL', 'core answered without the template');
  const { id, name, boundEndpointId = '' } = template;
  const isOwn = boundEndpointId !== '';
  const env = isOwn ? { ...template.env, ...endpoint.env } : template.env;
  return { settings, template: { id, name, isOwn, values: restRecord(OWN_TEMPLATE, { ...template, env }) } };
}
