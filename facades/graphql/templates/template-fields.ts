/**
 * Converts public template settings of GraphQL to contract fields: those of the table, and the alternative forms of
 * clients.
 */
import type { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import type { FieldChanges } from '../../resources/mask-fields.ts';
import { TEMPLATE } from '../../resources/templates/template-table.ts';
import { commandOf } from '../list-text.ts';
import { inputChanges } from '../table-fields.ts';

/** SaveTemplateInput of the public schema, as far as this file reads it. Null counts as absent. */
export interface TemplateInput {
  id?: string | null;
  name?: string | null;
  dockerArgs?: string | null;
  category?: string | null;
  [setting: string]: unknown;
}

/** Returns the fields that an input sets. */
export function templateFields(input: TemplateInput): FieldChanges<Template> {
  const command = commandOf(input.dockerArgs);
  return inputChanges<Template>(TEMPLATE, input, {
    startCommand: command?.startCommand,
    entrypoint: command?.entrypoint,
    // Core judges an empty word: for a new template it means the default.
    category: input.category ?? undefined,
  });
}
