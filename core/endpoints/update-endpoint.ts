/** Changes some fields of an endpoint and nothing else. */
import { endpointNotFound } from '../domain/permission.ts';
import type { Actor } from '../domain/permission.ts';
import { checkEndpoint, checkServerless, replacesWorkers } from '../domain/endpoint.ts';
import { invalid, snake } from '../domain/fields.ts';
import type { Endpoint, EndpointSettings } from '../domain/endpoint.ts';
import { checkFixed } from '../domain/fixed-fields.ts';
import { unlistedTypes } from '../domain/gpu-pools.ts';
import { checkHttpServer } from '../domain/http-server.ts';
import { unknownTemplate } from '../domain/template.ts';
import type { Template } from '../domain/template.ts';
import type { EndpointContext } from './endpoint-context.ts';
import { sealWebhookSecret } from './create-endpoint.ts';
import { getEndpoint } from './endpoints.ts';

/** What to change. Absent fields stay as they are. */
export interface EndpointChange {
  settings: Partial<EndpointSettings>;
  /** Empty: calls are no longer signed. Absent: as before. */
  webhookSecret: string | undefined;
}

/** Answers the endpoint after the change, which raises its version when it replaces workers. INVALID_REQUEST: out of range, or fixed. */
export async function updateEndpoint(
  context: EndpointContext, actor: Actor, id: string, change: EndpointChange, only: readonly string[],
): Promise<Endpoint> {
  const { endpoints, onChanged } = context;
  await checkWithin(context, actor, change.settings, only);
  const template = await newTemplate(context, actor, id, change.settings.templateId);
  const webhookSecretSealed = change.webhookSecret === undefined ? undefined : sealWebhookSecret(context, id, change.webhookSecret);
  const reported = await context.machines.reportedTypes(change.settings.gpuIds ?? []);
  const fields = [...Object.keys(change.settings).map(snake), ...(webhookSecretSealed === undefined ? [] : ['webhook_secret'])];
  const updated = await endpoints.update(id, actor, fields, template?.id, (current) => {
    checkFixed<EndpointSettings>(current, change.settings, ['type', 'computeType']);
    const settings = merge(current, change.settings);
    // What it has already stays allowed, also when no machine with such a card is left.
    checkEndpoint(settings, new Set([...reported, ...unlistedTypes(current.gpuIds)]));
    // What was stored before it was checked hinders no other change.
    if (settings.type === 'LB' && (template || change.settings.env)) checkHttpServer({ ...template?.env, ...settings.env });
    return { settings, replacesWorkers: replacesWorkers(current, settings), webhookSecretSealed };
  });
  if (!updated) throw endpointNotFound(id);
  onChanged([id]);
  return updated;
}

/** A key for some endpoints gives them no template and no volume that it may not see. */
async function checkWithin(
  { templates, volumes }: EndpointContext, { accountId }: Actor, { templateId, networkVolumeIds = [] }: EndpointChange['settings'], only: readonly string[],
): Promise<void> {
  if (only.length === 0) return;
  if (templateId !== undefined && !(await templates.isUsedBy(templateId, accountId, only))) throw unknownTemplate(templateId);
  for (const volumeId of networkVolumeIds) {
    const shown = JSON.stringify(volumeId.slice(0, 64));
    if (!(await volumes.get(volumeId, accountId, only))) throw invalid(`network_volume_ids: there is no network volume ${shown} for this key`);
  }
}

/** The template that is to replace another. Undefined: none is; the present one may stay also when its owner shares it no more. */
async function newTemplate(context: EndpointContext, actor: Actor, id: string, templateId: string | undefined): Promise<Template | undefined> {
  if (templateId === undefined) return undefined;
  const template = await context.templates.usable(templateId, actor.accountId);
  if (!template && (await getEndpoint(context, actor.accountId, id)).templateId === templateId) return undefined;
  if (!template) throw unknownTemplate(templateId);
  checkServerless(template);
  return template;
}

function merge(current: Endpoint, change: EndpointChange['settings']): EndpointSettings {
  const { id: _id, accountId: _accountId, version: _version, createdAt: _createdAt, ...settings } = { ...current, ...change };
  // An endpoint from before there was a default of 1.
  if (settings.computeType === 'GPU' && settings.gpuCount === 0 && change.gpuCount === undefined) settings.gpuCount = 1;
  return settings;
}
