/** Public template settings to contract fields. */
import type { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import type { FieldChanges } from '../../resources/mask-fields.ts';
import { restChanges } from '../../resources/rest-values.ts';
import type { TemplateCreateInput, TemplateUpdateInput } from '../../resources/templates/template-schemas.ts';
import { TEMPLATE } from '../../resources/templates/template-table.ts';

/** Fields for templates of pods only (docs/reference/management.md#templates). Endpoints use neither. */
const POD_DEFAULTS = { volumeInGb: 20, ports: ['8888/http', '22/tcp'] };

/** Returns the fields of a new template. */
export function newTemplateFields(input: TemplateCreateInput): Partial<Template> {
  return templateFields(input.isServerless === true ? input : { ...POD_DEFAULTS, ...input }).changes;
}

/** Returns the fields that a body sets. */
export function templateFields(input: TemplateUpdateInput): FieldChanges<Template> {
  return restChanges<Template>(TEMPLATE, input);
}
