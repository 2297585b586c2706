/** POST /v1/templates (docs/management.md#templates). */
import { Template } from '../../../proto/gen/slipway/v1/template_service.ts';
import { presentTemplate } from '../../resources/templates/present-template.ts';
import { changed, errors, ref } from '../rest-parts.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { newTemplateFields } from './template-fields.ts';
import type { TemplateCreateInput, TemplateRecord } from '../../resources/templates/template-schemas.ts';

/** Adds the route. */
export function createTemplate(app: RestApp, { core, gate, readJson }: RestParts): void {
  const schema = {
    operationId: 'CreateTemplate', tags: ['templates'], summary: 'Create a template',
    body: ref<TemplateCreateInput>('TemplateCreateInput'),
    response: { 200: changed<TemplateRecord>('Template'), ...errors() },
  };
  app.post('/v1/templates', { schema, onRequest: gate, preValidation: readJson }, async (request) => {
    const template = Template.fromPartial(newTemplateFields(request.body));
    const options = { apiKey: request.caller.apiKey, repeatable: false };
    const response = await core.templates.call((client) => client.createTemplate, { template }, options);
    return presentTemplate(response.template);
  });
}
