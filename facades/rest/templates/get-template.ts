/** GET /v1/templates/{templateId}. */
import { presentTemplate } from './present-template.ts';
import { errors, idOf, ref } from '../rest-parts.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { TemplatePath } from './template-schemas.ts';
import type { TemplateRecord } from './template-schemas.ts';

/** Adds the route. */
export function getTemplate(app: RestApp, { core, gate }: RestParts): void {
  const schema = {
    operationId: 'GetTemplate', tags: ['templates'], summary: 'Read a template',
    params: TemplatePath, response: { 200: ref<TemplateRecord>('Template'), ...errors(404) },
  };
  app.get('/v1/templates/:templateId', { schema, onRequest: gate }, async (request) => {
    const id = idOf(request.params.templateId, 'TEMPLATE_NOT_FOUND');
    const response = await core.templates.call((client) => client.getTemplate, { id }, { apiKey: request.caller.apiKey, repeatable: true });
    return presentTemplate(response.template);
  });
}
