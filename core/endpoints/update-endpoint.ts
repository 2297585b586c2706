/** Changes the given fields of an endpoint. */

import type { Actor } from '../domain/accounts/permission.ts';
import { endpointNotFound } from '../domain/accounts/permission.ts';
import { unlistedTypes } from '../domain/machines/gpu-pools.ts';
import { checkHttpServer } from '../domain/machines/http-server.ts';
import type { Endpoint, EndpointSettings } from '../domain/resources/endpoint.ts';
import { checkEndpoint, checkServerless, checkStandby, replacesWorkers } from '../domain/resources/endpoint.ts';
import { withFinerSettings } from '../domain/resources/finer-settings.ts';
import { checkRegistry } from '../domain/resources/image-name.ts';
import type { OwnTemplateChange } from '../domain/resources/own-template.ts';
import { checkNotBound, foreignTemplate, ownTemplateName, ownTemplateOf } from '../domain/resources/own-template.ts';
import { unknownRegistryAuth } from '../domain/resources/registry-auth.ts';
import type { Template, TemplateSettings } from '../domain/resources/template.ts';
import { unknownTemplate } from '../domain/resources/template.ts';
import { invalid, snake } from '../domain/settings/fields.ts';
import { checkFixed } from '../domain/settings/fixed-fields.ts';
import { sealWebhookSecret } from './create-endpoint.ts';
import type { EndpointContext } from './endpoint-context.ts';
import { getEndpoint } from './endpoints.ts';
import type { OwnTemplateSource } from './own-template-source.ts';
import { sourceOf } from './own-template-source.ts';
import { TEMPLATE_ID_LENGTH } from './templates.ts';

/** Fields to change. Absent fields do not change. */
export interface EndpointChange {
  settings: Partial<EndpointSettings>;
  /** Empty: calls are no longer signed. Absent: unchanged. */
  webhookSecret: string | undefined;
  /** New own template. Absent: the template stays, or the settings name one. */
  ownTemplate?: OwnTemplateChange | undefined;
}

/**
 * Changes an endpoint and returns it. Its version rises if the change replaces workers. Throws INVALID_REQUEST if a
 * field is out of range or fixed.
 */
export async function updateEndpoint(
  context: EndpointContext,
  actor: Actor,
  id: string,
  change: EndpointChange,
  only: readonly string[],
): Promise<Endpoint> {
  const { endpoints, onChanged, random } = context;
  await checkWithin(context, actor, change, only);
  checkRegistry('image_name', change.ownTemplate?.settings.imageName ?? '', context.mayAsk);
  const { named, source } = await chooseTemplate(context, actor, change);
  const template = await newTemplate(context, actor, id, named.templateId);
  const webhookSecretSealed =
    change.webhookSecret === undefined ? undefined : sealWebhookSecret(context, id, change.webhookSecret);
  const reported = await context.machines.reportedTypes(change.settings.gpuIds ?? []);
  const fields = [
    ...Object.keys(named).map(snake),
    ...(webhookSecretSealed === undefined ? [] : ['webhook_secret']),
    ...Object.keys(source?.settings ?? {}).map((field) => `template.${snake(field)}`),
  ];
  const ownId = random.id(TEMPLATE_ID_LENGTH);
  const updated = await endpoints.update(
    id,
    actor,
    { fields, templateId: template?.id, changesRun: source !== undefined },
    (current, run) => {
      checkFixed<EndpointSettings>(current, named, ['type', 'computeType']);
      const own = source && run ? ownOf(current, named, source, run) : undefined;
      const settings = merge(current, { ...named, ...own?.settings });
      if (named.flashBootStandby !== undefined) checkStandby(settings);
      // Current values stay allowed even if no machine with such a GPU is left.
      checkEndpoint(settings, new Set([...reported, ...unlistedTypes(current.gpuIds)]));
      // Invalid values that were stored before this check existed must not block other changes.
      const runs = own?.template ?? template;
      if (settings.type === 'LB' && (runs || named.env)) checkHttpServer({ ...runs?.env, ...settings.env });
      const saved = own?.template && { id: ownId, settings: own.template };
      return { settings, replacesWorkers: replacesWorkers(current, settings), webhookSecretSealed, own: saved };
    },
  );
  if (!updated) throw endpointNotFound(id);
  onChanged([id]);
  return updated;
}

/**
 * Checks that a key restricted to some endpoints attaches no template, volume or registry credentials that it may not
 * see.
 */
async function checkWithin(
  { templates, volumes }: EndpointContext,
  { accountId }: Actor,
  { settings, ownTemplate }: EndpointChange,
  only: readonly string[],
): Promise<void> {
  if (only.length === 0) return;
  const registryAuthId = ownTemplate?.settings.registryAuthId;
  if (registryAuthId) throw unknownRegistryAuth(registryAuthId);
  const { networkVolumeIds = [], templateId = ownTemplate?.fromTemplateId || undefined } = settings;
  if (templateId !== undefined && !(await templates.isUsedBy(templateId, accountId, only)))
    throw unknownTemplate(templateId);
  for (const volumeId of networkVolumeIds) {
    const shown = JSON.stringify(volumeId.slice(0, 64));
    if (!(await volumes.get(volumeId, accountId, only)))
      throw invalid(`network_volume_ids: there is no network volume ${shown} for this key`);
  }
}

/** Returns changed fields of the own template, and the source of the other fields. */
async function chooseTemplate(
  { templates }: EndpointContext,
  { accountId }: Actor,
  { settings, ownTemplate }: EndpointChange,
): Promise<{ named: EndpointChange['settings']; source?: OwnSource }> {
  if (!ownTemplate) return { named: settings };
  if (settings.templateId !== undefined || settings.env !== undefined)
    throw invalid('update_mask: own_template says template_id and env where it is given');
  const source = await sourceOf(templates, accountId, ownTemplate);
  return source.link
    ? { named: { ...settings, templateId: source.link.id, env: source.env } }
    : { named: settings, source };
}

type OwnSource = Exclude<OwnTemplateSource, { link: Template }>;

/**
 * Returns the own template of an endpoint and the settings that follow. If the present template belongs to another
 * account, the endpoint keeps it with other variables.
 */
function ownOf(
  current: Endpoint,
  { name = current.name }: EndpointChange['settings'],
  { settings, base }: OwnSource,
  run: Template,
): { settings: EndpointChange['settings']; template?: TemplateSettings } {
  if (!base && run.accountId !== current.accountId) {
    const { env, ...others } = settings;
    if (Object.keys(others).length > 0) throw foreignTemplate();
    return { settings: env ? { env } : {} };
  }
  const template = ownTemplateOf(ownTemplateName(name, current.id), settings, base ?? run);
  // All variables come from the template, unless the present ones stay.
  return { settings: settings.env ? { env: {} } : {}, template };
}

/**
 * Returns the new template, `undefined` if it stays. The present one may stay even if its owner no longer shares it.
 */
async function newTemplate(
  context: EndpointContext,
  actor: Actor,
  id: string,
  templateId: string | undefined,
): Promise<Template | undefined> {
  if (templateId === undefined) return undefined;
  const template = await context.templates.usable(templateId, actor.accountId);
  if (!template && (await getEndpoint(context, actor.accountId, id)).templateId === templateId) return undefined;
  if (!template) throw unknownTemplate(templateId);
  checkServerless(template);
  checkNotBound(template, id);
  return template;
}

function merge(current: Endpoint, change: EndpointChange['settings']): EndpointSettings {
  const {
    id: _id,
    accountId: _accountId,
    version: _version,
    createdAt: _createdAt,
    ...merged
  } = { ...current, ...change };
  const settings = withFinerSettings(merged, current, change);
  // The endpoint was stored before the default of 1 existed.
  if (settings.computeType === 'GPU' && settings.gpuCount === 0 && change.gpuCount === undefined) settings.gpuCount = 1;
  return settings;
}
