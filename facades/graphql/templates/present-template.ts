/** Contract templates to the public schema's fields. */
import type { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { TEMPLATE } from '../../resources/templates/template-table.ts';
import { countVariables } from '../answer-variables.ts';
import type { GraphqlContext } from '../core-calls.ts';
import type { CoreMessage } from '../core-message.ts';
import { shownFields } from '../table-fields.ts';

/** Returns a PodTemplate of the public schema. */
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
 * Returns PodTemplates of the public schema. With variables, each is built in a separate tick, because a document may
 * ask for the same list under many names. Throws INVALID_REQUEST if the answer has too many variables.
 */
export async function presentTemplates(
  templates: readonly CoreMessage<Template>[],
  context: Pick<GraphqlContext, 'selectsEnv' | 'turn' | 'variables'>,
): Promise<ReturnType<typeof presentTemplate>[]> {
  const presented: ReturnType<typeof presentTemplate>[] = [];
  for (const template of templates) {
    countVariables(context, template.env);
    if (context.selectsEnv) await context.turn();
    presented.push(presentTemplate(template));
  }
  return presented;
}
