/** Creates an endpoint. */
import type { Actor } from '../domain/permission.ts';
import { checkEndpoint, checkServerless } from '../domain/endpoint.ts';
import { checkText, invalid } from '../domain/fields.ts';
import type { Endpoint, EndpointSettings } from '../domain/endpoint.ts';
import { checkHttpServer } from '../domain/http-server.ts';
import { webhookSecretIdentity } from '../domain/sealed-identity.ts';
import { unknownTemplate } from '../domain/template.ts';
import type { EndpointContext } from './endpoint-context.ts';

const ID_LENGTH = 14;
const REQUEST_ID_LENGTH_MAX = 191;
/** Longest webhook secret in characters. */
export const WEBHOOK_SECRET_LENGTH_MAX = 1_024;

/** What to create. */
export interface EndpointRequest {
  /** An empty name takes the template's. */
  settings: EndpointSettings;
  /** Signs webhook calls; empty: they are not signed. */
  webhookSecret: string;
  /** Makes the call safe to repeat; empty: it is not. */
  requestId: string;
}

/**
 * Answers the endpoint, the earlier one when the request id was used before. INVALID_REQUEST: a field is out of range, the template is
 * unknown or made for pods, or a network volume is unknown.
 */
export async function createEndpoint(context: EndpointContext, actor: Actor, endpointRequest: EndpointRequest): Promise<Endpoint> {
  const { accountId } = actor;
  const { endpoints, templates, machines, random, onChanged } = context;
  const { requestId, webhookSecret } = endpointRequest;
  if (requestId.length > REQUEST_ID_LENGTH_MAX) throw invalid(`request_id is longer than ${REQUEST_ID_LENGTH_MAX} characters`);
  checkText('request_id', requestId);
  if (endpointRequest.settings.templateId === '') throw invalid('template_id is required: it says what workers run');
  const template = await templates.usable(endpointRequest.settings.templateId, accountId);
  if (!template) throw unknownTemplate(endpointRequest.settings.templateId);
  checkServerless(template);
  const settings = { ...endpointRequest.settings, name: endpointRequest.settings.name || template.name };
  if (settings.type === 'LB') checkHttpServer({ ...template.env, ...settings.env });
  checkEndpoint(settings, await machines.reportedTypes(settings.gpuIds));
  const id = random.id(ID_LENGTH);
  const webhookSecretSealed = sealWebhookSecret(context, id, webhookSecret);
  const made = await endpoints.create({ id, requestId: requestId || null, webhookSecretSealed }, actor, settings);
  if (!made) return (await endpoints.byRequest(accountId, requestId))!;
  onChanged([made.id]);
  return made;
}

/** The secret as it is stored; null for none. INVALID_REQUEST: it is too long. */
export function sealWebhookSecret(context: Pick<EndpointContext, 'sealer'>, endpointId: string, secret: string): Buffer | null {
  if (secret.length > WEBHOOK_SECRET_LENGTH_MAX) throw invalid(`webhook_secret is longer than ${WEBHOOK_SECRET_LENGTH_MAX} characters`);
  return secret === '' ? null : context.sealer.seal(Buffer.from(secret), webhookSecretIdentity(endpointId));
}
