/** Changes some fields of a template. A change of what workers run replaces the workers of its endpoints. */
import type { Actor } from '../domain/access.ts';
import { snake } from '../domain/fields.ts';
import { checkFixed } from '../domain/fixed-fields.ts';
import { checkTemplate, templateReplacesWorkers } from '../domain/template.ts';
import type { Template, TemplateSettings } from '../domain/template.ts';
import type { EndpointContext } from './context.ts';
import { nameTaken } from './create-template.ts';
import { templateNotFound } from './get-template.ts';

/** TEMPLATE_NOT_FOUND, NAME_TAKEN, or INVALID_REQUEST: the result would be out of range, a field is fixed, or the credentials are unknown. */
export async function updateTemplate(
  { templates, onChanged }: Pick<EndpointContext, 'templates' | 'onChanged'>, actor: Actor, id: string,
  change: Partial<TemplateSettings>,
): Promise<Template> {
  const updated = await templates.update(id, actor, Object.keys(change).map(snake), (current) => {
    checkFixed<TemplateSettings>(current, change, ['category', 'serverless']);
    const { id: _id, accountId: _accountId, version: _version, createdAt: _createdAt, ...settings } = { ...current, ...change };
    checkTemplate(settings);
    return { settings, replacesWorkers: templateReplacesWorkers(current, settings) };
  });
  if (!updated) throw templateNotFound(id);
  if (updated === 'taken') throw nameTaken(change.name ?? '');
  onChanged(updated.endpointIds);
  return updated.template;
}
