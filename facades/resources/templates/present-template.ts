/** Contract template to public record. */
import type { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { CoreError } from '@slipway/proto/wire/reason';
import { restRecord } from '../rest-values.ts';
import type { TemplateRecord } from './template-schemas.ts';
import { TEMPLATE } from './template-table.ts';

/** Returns the public record. */
export function presentTemplate(template: Template | undefined): TemplateRecord {
  if (template === undefined) throw new CoreError('INTERNAL', 'core answered without a template');
  return { id: template.id, ...restRecord(TEMPLATE, template), earned: 0, isRunpod: false, runtimeInMin: 0 };
}
