/** Templates (docs/reference/management.md#templates): made, listed, read, deleted. Changes: update-template.ts. */

import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { Type } from 'typebox';
import { creationCall } from '../../plugins/idempotency-key.ts';
import { presentTemplate } from '../../resources/templates/present-template.ts';
import type { TemplateCreateInput, TemplateRecord } from '../../resources/templates/template-schemas.ts';
import { readQuery } from '../read-query.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { answer, answers, changed, errors, idOf, ref } from '../rest-parts.ts';
import { sendList } from '../send-list.ts';
import { newTemplateFields } from './template-fields.ts';
import { TemplatePath, TemplateQuery } from './template-query.ts';

/** POST /v1/templates (docs/reference/management.md#templates). */
export function createTemplate(app: RestApp, { core, gate, readJson }: RestParts): void {
  const schema = {
    operationId: 'CreateTemplate',
    tags: ['templates'],
    summary: 'Create a template',
    body: ref<TemplateCreateInput>('TemplateCreateInput'),
    response: { 200: changed<TemplateRecord>('Template'), ...errors() },
  };
  app.post('/v1/templates', { schema, onRequest: gate, preValidation: readJson }, async (request) => {
    const template = Template.fromPartial(newTemplateFields(request.body));
    const { requestId, options } = creationCall(request);
    const response = await core.templates.call((client) => client.createTemplate, { template, requestId }, options);
    return presentTemplate(response.template);
  });
}

/** GET /v1/templates: a bare array, oldest first (docs/reference/management.md#lists). */
export function listTemplates(app: RestApp, { core, budget, gate }: RestParts): void {
  const schema = {
    operationId: 'ListTemplates',
    tags: ['templates'],
    summary: 'List templates',
    querystring: TemplateQuery,
    response: { 200: answers<TemplateRecord>('Template'), ...errors() },
  };
  app.get('/v1/templates', { schema, onRequest: gate, preValidation: readQuery(TemplateQuery) }, (request, reply) => {
    const { includePublicTemplates: includePublic = false, includeEndpointBoundTemplates: includeBound = false } =
      request.query;
    return sendList(budget, request, reply, {
      read: (page, options) =>
        core.templates.call((client) => client.listTemplates, { includePublic, includeBound, ...page }, options),
      present: ({ templates }) => templates.map(presentTemplate),
    });
  });
}

/** GET /v1/templates/{templateId}. */
export function getTemplate(app: RestApp, { core, gate }: RestParts): void {
  const schema = {
    operationId: 'GetTemplate',
    tags: ['templates'],
    summary: 'Read a template',
    params: TemplatePath,
    querystring: TemplateQuery,
    response: { 200: answer<TemplateRecord>('Template'), ...errors(404) },
  };
  app.get(
    '/v1/templates/:templateId',
    { schema, onRequest: gate, preValidation: readQuery(TemplateQuery) },
    async (request) => {
      const id = idOf(request.params.templateId, 'template');
      const response = await core.templates.call(
        (client) => client.getTemplate,
        { id },
        { apiKey: request.caller.apiKey, repeatable: true },
      );
      return presentTemplate(response.template);
    },
  );
}

/** DELETE /v1/templates/{templateId}: 204; 400 while an endpoint uses it (docs/reference/management.md#templates). */
export function deleteTemplate(app: RestApp, { core, gate }: RestParts): void {
  const schema = {
    operationId: 'DeleteTemplate',
    tags: ['templates'],
    summary: 'Delete a template that no endpoint uses',
    params: TemplatePath,
    response: { 204: Type.Null({ description: 'It was deleted.' }), ...errors(404) },
  };
  app.delete('/v1/templates/:templateId', { schema, onRequest: gate }, async (request, reply) => {
    const id = idOf(request.params.templateId, 'template');
    await core.templates.call(
      (client) => client.deleteTemplate,
      { id },
      { apiKey: request.caller.apiKey, repeatable: false },
    );
    return reply.code(204).send(null);
  });
}
