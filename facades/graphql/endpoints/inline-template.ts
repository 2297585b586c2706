/** Saves an endpoint together with its own template. */

import type { GraphqlContext } from '../core-calls.ts';
import { callCore, refused } from '../core-calls.ts';
import { createTemplate } from '../templates/read-templates.ts';
import type { TemplateInput } from '../templates/template-fields.ts';
import { templateFields } from '../templates/template-fields.ts';
import type { EndpointInput } from './endpoint-fields.ts';
import { readEndpoint } from './read-endpoints.ts';

/** Creates the template and saves the endpoint with it. Deletes the template if the endpoint cannot be saved. */
export async function withInlineTemplate<Saved>(
  template: TemplateInput,
  { id, templateId, name }: EndpointInput,
  context: GraphqlContext,
  save: (templateId: string) => Promise<Saved>,
): Promise<Saved> {
  if (templateId) throw refused('Give templateId or template, not both.');
  const nameOfEndpoint = name ?? (id ? (await readEndpoint(id, context)).name : undefined);
  const { changes } = templateFields({ ...template, name: template.name || nameOfEndpoint });
  const made = await createTemplate({ ...changes, serverless: true }, context);
  try {
    return await save(made.id!);
  } catch (error) {
    await callCore(context, 'TemplateService', 'DeleteTemplate', { id: made.id }).catch(() => undefined);
    throw error;
  }
}
