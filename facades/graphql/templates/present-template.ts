/** Contract templates to the public schema's fields. */
import type { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { TEMPLATE } from '../../resources/templates/template-table.ts';
import type { GraphqlContext } from '../core-calls.ts';
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

/**
 * PodTemplates of the public schema. With variables, which may be many, each in a turn of its own: a document may ask
 * for the same list under many names.
 */
export async function presentTemplates(
  templates: readonly CoreMessage<Template>[],
  { selectsEnv, turn }: Pick<GraphqlContext, 'selectsEnv' | 'turn'>,
): Promise<ReturnType<typeof presentTemplate>[]> {
  const presented: ReturnType<typeof presentTemplate>[] = [];
  for (const template of templates) {
    if (selectsEnv) await turn();
    presented.push(presentTemplate(template));
  }
  return presented;
}
