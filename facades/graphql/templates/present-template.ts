/** Contract templates to the public schema's fields. */
import type { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { TEMPLATE } from '../../resources/templates/template-table.ts';
import { countVariables } from '../answer-variables.ts';
import type { GraphqlContext } from '../core-calls.ts';
import type { CoreMessage } from '../core-message.ts';
import { shownFields } from '../table-fields.ts';

type Presented = ReturnType<typeof presentTemplate>;

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
 * Returns PodTemplates of the public schema. With variables, each is a promise that resolves in a separate tick, so
 * that it is completed in that tick too: a document may ask for the same list under many names. Throws INVALID_REQUEST
 * if the answer has too many variables.
 */
export function presentTemplates(
  templates: readonly CoreMessage<Template>[],
  context: Pick<GraphqlContext, 'selectsEnv' | 'turn' | 'variables'>,
): (Presented | Promise<Presented>)[] {
  for (const { env } of templates) countVariables(context, env);
  if (!context.selectsEnv) return templates.map(presentTemplate);
  return templates.map((template) => context.turn().then(() => presentTemplate(template)));
}
