/** TemplateService: decode, call a use case, encode. */
import type { TemplateServiceServer } from '@slipway/proto/gen/slipway/v1/template_service';
import { CreateTemplateRequest } from '@slipway/proto/gen/slipway/v1/template_service';
import type { Access } from '../../access/access.ts';
import { seesEnvValues } from '../../domain/accounts/permission.ts';
import { mayWantId } from '../../domain/resources/wanted-id.ts';
import { invalid } from '../../domain/settings/fields.ts';
import type { EndpointContext } from '../../endpoints/endpoint-context.ts';
import { createTemplate, deleteTemplate, getTemplate, updateTemplate } from '../../endpoints/templates.ts';
import { createOnce } from '../../resources/create-once.ts';
import { creationOf } from '../server/creation.ts';
import { ownAccount } from '../server/own-account.ts';
import type { ListParts } from '../server/paging.ts';
import { listing, pageRequestOf, tokenOf } from '../server/paging.ts';
import { unary } from '../server/unary.ts';
import { templateChangeFromMessage, templateFromMessage, templateToMessage } from './template-messages.ts';

/** Returns the handlers of the service. */
export function templateHandlers(access: Access, context: EndpointContext, lists: ListParts): TemplateServiceServer {
  const { logger } = lists;
  return {
    createTemplate: unary(logger, async (request, apiKey) => {
      const actor = await ownAccount(access, apiKey, true);
      const { accountId } = actor;
      mayWantId(actor.caller, request.wantedId);
      const made = await createOnce(context, {
        ...creationOf('CreateTemplate', CreateTemplateRequest, request),
        accountId,
        create: (key) => createTemplate(context, actor, templateFromMessage(request.template), key, request.wantedId),
        read: (id) => getTemplate(context, accountId, id, []),
      });
      return { template: templateToMessage(made, accountId, true) };
    }),
    getTemplate: unary(logger, async ({ id }, apiKey) => {
      const { accountId, caller } = await ownAccount(access, apiKey, false);
      const template = await getTemplate(context, accountId, id, caller.endpointIds);
      return { template: templateToMessage(template, accountId, seesEnvValues(caller)) };
    }),
    listTemplates: listing(lists, async (request, apiKey, enter) => {
      const { accountId, caller } = await ownAccount(access, apiKey, false);
      const page = pageRequestOf(request);
      await enter(accountId);
      const { entries, next } = await context.templates.list(
        accountId,
        {
          includePublic: request.includePublic,
          includeBound: request.includeBound ?? false,
          withoutEnv: request.withoutEnv ?? false,
        },
        caller.endpointIds,
        page,
      );
      return {
        templates: entries.map((template) => templateToMessage(template, accountId, seesEnvValues(caller))),
        nextPageToken: tokenOf(next, page),
      };
    }),
    updateTemplate: unary(logger, async ({ template, updateMask }, apiKey) => {
      const actor = await ownAccount(access, apiKey, true);
      if (!template) throw invalid('template is required');
      const change = templateChangeFromMessage(template, updateMask ?? []);
      return {
        template: templateToMessage(await updateTemplate(context, actor, template.id, change), actor.accountId, true),
      };
    }),
    deleteTemplate: unary(logger, async ({ id }, apiKey) => {
      const actor = await ownAccount(access, apiKey, true);
      await deleteTemplate(context, actor, id);
      return {};
    }),
  };
}
