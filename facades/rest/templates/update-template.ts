/**
 * PATCH /v1/templates/{templateId} and POST …/update. Absent members stay unchanged
 * (docs/reference/management.md#templates).
 */
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { presentTemplate } from '../../resources/templates/present-template.ts';
import type { TemplateRecord, TemplateUpdateInput } from '../../resources/templates/template-schemas.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { changed, errors, idOf, ref } from '../rest-parts.ts';
import { templateFields } from './template-fields.ts';
import { TemplatePath } from './template-query.ts';

/** Adds both routes. */
export function updateTemplate(app: RestApp, { core, gate, readJson }: RestParts): void {
  for (const { method, url, operationId } of FORMS) {
    const schema = {
      operationId,
      tags: ['templates'],
      summary: 'Change a template',
      params: TemplatePath,
      body: ref<TemplateUpdateInput>('TemplateUpdateInput'),
      response: { 200: changed<TemplateRecord>('Template'), ...errors(404) },
    };
    app.route({
      method,
      url,
      schema,
      onRequest: gate,
      preValidation: readJson,
      handler: async (request) => {
        const id = idOf(request.params.templateId, 'template');
        const { changes, mask } = templateFields(request.body);
        const options = { apiKey: request.caller.apiKey, repeatable: true };
        // An empty change is no error: the template is returned unchanged.
        const update = { template: Template.fromPartial({ ...changes, id }), updateMask: mask };
        const { template } =
          mask.length === 0
            ? await core.templates.call((client) => client.getTemplate, { id }, options)
            : await core.templates.call((client) => client.updateTemplate, update, options);
        return presentTemplate(template);
      },
    });
  }
}

const FORMS = [
  { method: 'PATCH', url: '/v1/templates/:templateId', operationId: 'UpdateTemplate' },
  { method: 'POST', url: '/v1/templates/:templateId/update', operationId: 'UpdateTemplateByPost' },
] as const;
