/** GET /v1/templates: a bare array, oldest first (compat.md 3.2). */
import { presentTemplate } from './present-template.ts';
import { readQuery } from '../read-query.ts';
import { answers, errors } from '../rest-parts.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { TemplateQuery } from './template-schemas.ts';
import type { TemplateRecord } from './template-schemas.ts';

/** Adds the route. The `include…` parameters of compat.md 3.3 are accepted: all templates of the account are always listed. */
export function listTemplates(app: RestApp, { core, gate }: RestParts): void {
  const schema = {
    operationId: 'ListTemplates', tags: ['templates'], summary: 'List templates',
    querystring: TemplateQuery, response: { 200: answers<TemplateRecord>('Template'), ...errors() },
  };
  app.get('/v1/templates', { schema, onRequest: gate, preValidation: readQuery(TemplateQuery) }, async (request) => {
    const options = { apiKey: request.caller.apiKey, repeatable: true };
    const { templates } = await core.templates.call((client) => client.listTemplates, {}, options);
    return templates.map(presentTemplate);
  });
}
