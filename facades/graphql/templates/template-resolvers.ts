/** Fields of templates over TemplateService. */
import type { GetTemplateResponse } from '@slipway/proto/gen/slipway/v1/template_service';
import { CoreError } from '@slipway/proto/wire/reason';
import type { Resolver } from '../core-calls.ts';
import { callCore, orNull, toGraphqlError, updateCore } from '../core-calls.ts';
import { presentTemplate, presentTemplates } from './present-template.ts';
import { createTemplate, listTemplates, readTemplate } from './read-templates.ts';
import type { TemplateInput } from './template-fields.ts';
import { templateFields } from './template-fields.ts';

const SERVICE = 'TemplateService';

const saveTemplate: Resolver<{ input?: TemplateInput | null }> = async (_root, { input }, context) => {
  const fields = templateFields(input ?? {});
  const id = input?.id;
  if (!id) return presentTemplate(await createTemplate({ serverless: false, ...fields.changes }, context));
  const { template } = await updateCore<GetTemplateResponse>(context, [SERVICE, 'Template', 'template'], id, fields);
  return presentTemplate(template!);
};

const deleteTemplate: Resolver<{ templateName?: string | null }> = async (_root, { templateName }, context) => {
  const found = (await listTemplates(context)).find(({ name }) => name === templateName);
  const shown = JSON.stringify((templateName ?? '').slice(0, 64));
  if (!found) throw toGraphqlError(new CoreError('TEMPLATE_NOT_FOUND', `There is no template named ${shown}.`));
  await callCore(context, SERVICE, 'DeleteTemplate', { id: found.id });
  return null;
};

/** Part of Mesh's `additionalResolvers`. */
export const templateResolvers = {
  Query: {
    podTemplate: ((_root, { id }, context) =>
      orNull(readTemplate(id, context).then(presentTemplate))) satisfies Resolver<{ id: string }>,
    podTemplates: (async (_root, { input }, context) =>
      input?.isRunpod ? [] : presentTemplates(await listTemplates(context), context)) satisfies Resolver<{
      input?: { isRunpod?: boolean | null } | null;
    }>,
  },
  Mutation: { saveTemplate, deleteTemplate },
  User: {
    podTemplates: (async (_root, _args, context) =>
      presentTemplates(await listTemplates(context), context)) satisfies Resolver,
  },
};
