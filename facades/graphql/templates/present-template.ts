/** Contract templates to the public schema's fields. */
import type { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { TEMPLATE } from '../../resources/templates/template-table.ts';
import type { CoreMessage } from '../core-message.ts';
import { shownFields } from '../table-fields.ts';

/** PodTemplate of the public schema. */
export function presentTemplate(template: CoreMessage<Template>) {
  return {
    id: template.id ?? '',
    ...shownFields(TEMPLATE, template),
    portsConfig: [],
    isRunpod: false,
    startScript: '',
    advancedStart: false,
  };
}
