/** Creates an endpoint. */

import type { Actor } from '../domain/accounts/permission.ts';
import { checkHttpServer } from '../domain/machines/http-server.ts';
import type { CreationKey } from '../domain/resources/creation-key.ts';
import type { Endpoint, EndpointSettings } from '../domain/resources/endpoint.ts';
import { checkEndpoint, checkServerless, checkStandby } from '../domain/resources/endpoint.ts';
import { withFinerSettings } from '../domain/resources/finer-settings.ts';
import { checkRegistry } from '../domain/resources/image-name.ts';
import type { OwnTemplateChange } from '../domain/resources/own-template.ts';
import { checkNotBound, ownTemplateName, ownTemplateOf } from '../domain/resources/own-template.ts';
import type { TemplateSettings } from '../domain/resources/template.ts';
import { unknownTemplate } from '../domain/resources/template.ts';
import { checkWantedId } from '../domain/resources/wanted-id.ts';
import { invalid } from '../domain/settings/fields.ts';
import { webhookSecretIdentity } from '../domain/settings/sealed-identity.ts';
import type { NewOwnTemplate } from '../store/resources/own-template-rows.ts';
import type { EndpointContext } from './endpoint-context.ts';
import { sourceOf } from './own-template-source.ts';
import { TEMPLATE_ID_LENGTH } from './templates.ts';

const ID_LENGTH = 14;
/** Longest webhook secret in characters. */
const WEBHOOK_SECRET_LENGTH_MAX = 1_024;

/** Fields of the new resource. */
export interface EndpointRequest {
  /** Settings of the endpoint; an empty name becomes the template's. */
  settings: EndpointSettings;
  /** Secret that signs webhook calls. Empty: they are not signed. */
  webhookSecret: string;
  /** Own template of the endpoint, instead of a named one. */
  ownTemplate?: OwnTemplateChange | undefined;
  /** Requested id. `undefined`: a new one. */
  wantedId?: string | undefined;
}

/**
 * Creates an endpoint and returns it. Throws INVALID_REQUEST if a field is out of range, the template is unknown or for
 * pods, or a network volume is unknown. NAME_TAKEN: the wanted id is not free. RepeatedCreation: `key` was used before.
 */
export async function createEndpoint(
  context: EndpointContext,
  actor: Actor,
  endpointRequest: EndpointRequest,
  key?: CreationKey,
): Promise<Endpoint> {
  const { endpoints, machines, random, onChanged } = context;
  const { webhookSecret, wantedId } = endpointRequest;
  if (wantedId !== undefined) checkWantedId(wantedId, ID_LENGTH);
  const id = wantedId ?? random.id(ID_LENGTH);
  const { given, template, own } = await chooseTemplate(context, actor, id, endpointRequest);
  const settings = withFinerSettings({ ...given, name: given.name || template.name }, undefined, {});
  if (settings.type === 'LB') checkHttpServer({ ...template.env, ...settings.env });
  checkStandby(settings);
  checkEndpoint(settings, await machines.reportedTypes(settings.gpuIds));
  const webhookSecretSealed = sealWebhookSecret(context, id, webhookSecret);
  const made = await endpoints.create(
    { id, isWanted: wantedId !== undefined, key, webhookSecretSealed, own },
    actor,
    settings,
  );
  onChanged([made.id]);
  return made;
}

/** Returns the template of a new endpoint: an existing one, or its own, which is created with it. */
async function chooseTemplate(
  context: Pick<EndpointContext, 'templates' | 'mayAsk' | 'random'>,
  actor: Actor,
  endpointId: string,
  { settings, ownTemplate }: EndpointRequest,
): Promise<{ given: EndpointSettings; template: TemplateSettings; own?: NewOwnTemplate }> {
  const { templates } = context;
  if (!ownTemplate) {
    if (settings.templateId === '') throw invalid('template_id is required: it says what workers run');
    const template = await templates.usable(settings.templateId, actor.accountId);
    if (!template) throw unknownTemplate(settings.templateId);
    checkServerless(template);
    checkNotBound(template);
    return { given: settings, template };
  }
  if (settings.templateId !== '') throw invalid('template_id and own_template: give one of them');
  if (settings.name === '') throw invalid('name is required where own_template is given');
  checkRegistry('image_name', ownTemplate.settings.imageName ?? '', context.mayAsk);
  const source = await sourceOf(templates, actor.accountId, ownTemplate);
  if (source.link)
    return { given: { ...settings, templateId: source.link.id, env: source.env }, template: source.link };
  const template = ownTemplateOf(ownTemplateName(settings.name, endpointId), source.settings, source.base);
  const id = context.random.id(TEMPLATE_ID_LENGTH);
  return { given: { ...settings, templateId: id, env: {} }, template, own: { id, settings: template } };
}

/** Returns the sealed secret. Null: none. Throws INVALID_REQUEST if it is too long. */
export function sealWebhookSecret(
  context: Pick<EndpointContext, 'sealer'>,
  endpointId: string,
  secret: string,
): Buffer | null {
  if (secret.length > WEBHOOK_SECRET_LENGTH_MAX)
    throw invalid(`webhook_secret is longer than ${WEBHOOK_SECRET_LENGTH_MAX} characters`);
  return secret === '' ? null : context.sealer.seal(Buffer.from(secret), webhookSecretIdentity(endpointId));
}
