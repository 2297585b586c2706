/** The request for a new endpoint with the settings of another, as the console and the command line send it. */
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { CreateEndpointRequest } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import type { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { change, noChanges } from '../mask-fields.ts';
import { OWN_TEMPLATE, ownTemplateOf } from '../templates/own-template.ts';
import { ENDPOINT } from './endpoint-table.ts';

/**
 * Returns the request. `source` has its template: the new endpoint shares it, or gets a copy of what the source alone
 * runs. The secret that signs webhook calls is not copied.
 */
export function copyOfEndpoint(source: Endpoint, name: string): Omit<CreateEndpointRequest, 'requestId'> {
  const { template, workersMax, retryLimit } = source;
  const isOwn = (template?.boundEndpointId ?? '') !== '';
  const settings = Object.fromEntries(
    Object.keys(ENDPOINT).map((field) => [field, source[field as keyof typeof ENDPOINT]]),
  );
  const own = noChanges<Template>();
  for (const field of Object.keys(OWN_TEMPLATE) as (keyof typeof OWN_TEMPLATE)[]) change(own, field, template?.[field]);
  return {
    endpoint: Endpoint.fromPartial({ ...settings, name, ...(isOwn && { templateId: '' }) }),
    workersMax,
    retryLimit,
    ...(isOwn && { ownTemplate: ownTemplateOf(own.changes, own.mask) }),
  };
}
