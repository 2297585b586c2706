/**
 * PATCH /v1/templates/{templateId} and POST …/update. Absent members stay unchanged
 * (docs/reference/management.md#templates).
 */
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { presentTemplate } from '../../resources/templates/present-template.ts';
import type { TemplateRecord, TemplateUpdateInput } from '../../resources/templates/template-schemas.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { updateRoutes } from '../update-routes.ts';
import { templateFields } from './template-fields.ts';
import { TemplatePath } from './template-query.ts';

/** Adds both routes. */
export function updateTemplate(app: RestApp, parts: RestParts): void {
  const { templates } = parts.core;
  updateRoutes<TemplateUpdateInput, TemplateRecord>(app, parts, {
    shape: 'Template',
    thing: 'template',
    collection: '/v1/templates',
    idName: 'templateId',
    params: TemplatePath,
    update: async (id, input, { apiKey }) => {
      const { changes, mask } = templateFields(input);
      const options = { apiKey, repeatable: true };
      const update = { template: Template.fromPartial({ ...changes, id }), updateMask: mask };
      const { template } =
        mask.length === 0
          ? await templates.call((client) => client.getTemplate, { id }, options)
          : await templates.call((client) => client.updateTemplate, update, options);
      return presentTemplate(template);
    },
  });
}
