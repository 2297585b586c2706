/** GET /v1/templates/{templateId}. */
import { presentTemplate } from '../../resources/templates/present-template.ts';
import { readQuery } from '../read-query.ts';
import { answer, errors, idOf } from '../rest-parts.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { TemplatePath, TemplateQuery } from './template-query.ts';
import type { TemplateRecord } from '../../resources/templates/template-schemas.ts';

/** Adds the route. */
export function getTemplate(app: RestApp, { core, gate }: RestParts): void {
  const schema = {
    operationId: 'GetTemplate', tags: ['templates'], summary: 'Read a template',
    params: TemplatePath, querystring: TemplateQuery, response: { 200: answer<TemplateRecord>('Template'), ...errors(404) },
  };
  app.get('/v1/templates/:templateId', { schema, onRequest: gate, preValidation: readQuery(TemplateQuery) }, async (request) => {
    const id = idOf(request.params.templateId, 'template');
    const response = await core.templates.call((client) => client.getTemplate, { id }, { apiKey: request.caller.apiKey, repeatable: true });
    return presentTemplate(response.template);
  });
}
