/** Changes some fields of an endpoint and nothing else. */
import { endpointNotFound } from '../domain/access.ts';
import type { Actor } from '../domain/access.ts';
import { checkEndpoint, checkServerless, replacesWorkers, snake } from '../domain/endpoint.ts';
import type { Endpoint, EndpointSettings } from '../domain/endpoint.ts';
import { checkFixed } from '../domain/fixed-fields.ts';
import { unknownTemplate } from '../domain/template.ts';
import type { EndpointContext } from './context.ts';
import { sealWebhookSecret } from './create-endpoint.ts';

/** What to change. Absent fields stay as they are. */
export interface EndpointChange {
  settings: Partial<EndpointSettings>;
  /** Empty: calls are no longer signed. Absent: as before. */
  webhookSecret: string | undefined;
}

/** Answers the endpoint after the change, which raises its version when it replaces workers. INVALID_REQUEST: out of range, or fixed. */
export async function updateEndpoint(context: EndpointContext, actor: Actor, id: string, change: EndpointChange): Promise<Endpoint> {
  const { endpoints, templates, onChanged } = context;
  const { templateId } = change.settings;
  if (templateId !== undefined) {
    const template = await templates.usable(templateId, actor.accountId);
    if (!template) throw unknownTemplate(templateId);
    checkServerless(template);
  }
  const webhookSecretSealed = change.webhookSecret === undefined ? undefined : sealWebhookSecret(context, id, change.webhookSecret);
  const fields = [...Object.keys(change.settings).map(snake), ...(webhookSecretSealed === undefined ? [] : ['webhook_secret'])];
  const updated = await endpoints.update(id, actor, fields, templateId, (current) => {
    checkFixed<EndpointSettings>(current, change.settings, ['type', 'computeType']);
    const settings = merge(current, change.settings);
    checkEndpoint(settings);
    return { settings, replacesWorkers: replacesWorkers(current, settings), webhookSecretSealed };
  });
  if (!updated) throw endpointNotFound(id);
  onChanged([id]);
  return updated;
}

function merge(current: Endpoint, change: EndpointChange['settings']): EndpointSettings {
  const { id: _id, accountId: _accountId, version: _version, createdAt: _createdAt, ...settings } = { ...current, ...change };
  // Choosing GPUs where there were none means one of them, unless the number is given too.
  if (settings.gpuIds.length > 0 && settings.gpuCount === 0 && change.gpuCount === undefined) settings.gpuCount = 1;
  return settings;
}
