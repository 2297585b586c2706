/** DELETE /v1/templates/{templateId}: 204; 400 while an endpoint uses it (docs/management.md#templates). */
import { Type } from 'typebox';
import { errors, idOf } from '../rest-parts.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { TemplatePath } from './template-query.ts';

/** Adds the route. */
export function deleteTemplate(app: RestApp, { core, gate }: RestParts): void {
  const schema = {
    operationId: 'DeleteTemplate', tags: ['templates'], summary: 'Delete a template that no endpoint uses',
    params: TemplatePath, response: { 204: Type.Null({ description: 'Deleted.' }), ...errors(404) },
  };
  app.delete('/v1/templates/:templateId', { schema, onRequest: gate }, async (request, reply) => {
    const id = idOf(request.params.templateId, 'template');
    await core.templates.call((client) => client.deleteTemplate, { id }, { apiKey: request.caller.apiKey, repeatable: false });
    return reply.code(204).send(null);
  });
}
