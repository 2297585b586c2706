/** GET /v1/templates: a bare array, oldest first (docs/management.md#lists). */
import { presentTemplate } from '../../resources/templates/present-template.ts';
import { readQuery } from '../read-query.ts';
import { answers, errors } from '../rest-parts.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { sendList } from '../send-list.ts';
import { TemplateQuery } from './template-query.ts';
import type { TemplateRecord } from '../../resources/templates/template-schemas.ts';

/** Adds the route. */
export function listTemplates(app: RestApp, { core, room, gate }: RestParts): void {
  const schema = {
    operationId: 'ListTemplates', tags: ['templates'], summary: 'List templates',
    querystring: TemplateQuery, response: { 200: answers<TemplateRecord>('Template'), ...errors() },
  };
  app.get('/v1/templates', { schema, onRequest: gate, preValidation: readQuery(TemplateQuery) }, (request, reply) => {
    const { caller: { apiKey }, query: { includePublicTemplates: includePublic = false } } = request;
    return sendList(room, request, reply, {
      read: (page) => core.templates.call((client) => client.listTemplates, { includePublic, ...page }, { apiKey, repeatable: true }),
      present: ({ templates }) => templates.map(presentTemplate),
    });
  });
}
