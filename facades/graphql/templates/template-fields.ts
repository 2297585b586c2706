/**
 * Public template settings of GraphQL to contract fields: what the table describes, and what clients say in ways of
 * their own.
 */
import type { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import type { FieldChanges } from '../../resources/mask-fields.ts';
import { TEMPLATE } from '../../resources/templates/template-table.ts';
import { commandOf } from '../list-text.ts';
import { inputChanges } from '../table-fields.ts';

/** SaveTemplateInput of the public schema, as far as it is looked at here. Null counts as not given. */
export interface TemplateInput {
  id?: string | null;
  name?: string | null;
  dockerArgs?: string | null;
  category?: string | null;
  [setting: string]: unknown;
}

/** The fields that an input names. */
export function templateFields(input: TemplateInput): FieldChanges<Template> {
  const command = commandOf(input.dockerArgs);
  return inputChanges<Template>(TEMPLATE, input, {
    startCommand: command?.startCommand,
    entrypoint: command?.entrypoint,
    // An empty word is core's to judge: a new template takes it for the default.
    category: input.category ?? undefined,
  });
}
