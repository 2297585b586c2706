/** Creates, reads, changes and deletes templates. */

import type { Actor } from '../domain/accounts/permission.ts';
import type { CreationKey } from '../domain/resources/creation-key.ts';
import { checkRegistry } from '../domain/resources/image-name.ts';
import type { Template, TemplateSettings } from '../domain/resources/template.ts';
import { checkTemplate, templateNameTaken, templateReplacesWorkers } from '../domain/resources/template.ts';
import { checkWantedId } from '../domain/resources/wanted-id.ts';
import { DomainError } from '../domain/settings/errors.ts';
import { snake } from '../domain/settings/fields.ts';
import { checkFixed } from '../domain/settings/fixed-fields.ts';
import type { TemplateRemoval } from '../store/resources/template-store.ts';
import type { EndpointContext } from './endpoint-context.ts';

/** Characters of a template's id. */
export const TEMPLATE_ID_LENGTH = 10;

/**
 * Creates a template. `wantedId`: requested id; default: a new one. Throws NAME_TAKEN if the account has a
 * template of this name, or the wanted id is not free. INVALID_REQUEST: a field is out of range, or the registry
 * credentials are unknown. RepeatedCreation: `key` was used before.
 */
export async function createTemplate(
  { templates, mayAsk, random }: Pick<EndpointContext, 'templates' | 'mayAsk' | 'random'>,
  actor: Actor,
  settings: TemplateSettings,
  key?: CreationKey,
  wantedId?: string,
): Promise<Template> {
  if (wantedId !== undefined) checkWantedId(wantedId, TEMPLATE_ID_LENGTH);
  checkTemplate(settings);
  checkRegistry('image_name', settings.imageName, mayAsk);
  return templates.create(wantedId ?? random.id(TEMPLATE_ID_LENGTH), actor, settings, key);
}

/**
 * Returns a template. `only`: endpoints whose templates a restricted key may see; empty: all. Throws TEMPLATE_NOT_FOUND
 * if it is neither in this account nor public.
 */
export async function getTemplate(
  { templates }: Pick<EndpointContext, 'templates'>,
  accountId: string,
  id: string,
  only: readonly string[],
): Promise<Template> {
  const found = await templates.usable(id, accountId);
  if (!found || (only.length > 0 && !(await templates.isUsedBy(id, accountId, only)))) throw templateNotFound(id);
  return found;
}

/** Returns the error for a template that the account cannot see. */
function templateNotFound(id: string): DomainError {
  return new DomainError(
    'TEMPLATE_NOT_FOUND',
    `There is no template ${JSON.stringify(id.slice(0, 64))} in this account.`,
  );
}

/**
 * Changes fields of a template. A change of what workers run replaces the workers of its endpoints. Throws
 * TEMPLATE_NOT_FOUND, NAME_TAKEN, or INVALID_REQUEST if the result is out of range, a field is fixed, or the
 * credentials are unknown.
 */
export async function updateTemplate(
  { templates, mayAsk, onChanged }: Pick<EndpointContext, 'templates' | 'mayAsk' | 'onChanged'>,
  actor: Actor,
  id: string,
  change: Partial<TemplateSettings>,
): Promise<Template> {
  if (change.imageName !== undefined) checkRegistry('image_name', change.imageName, mayAsk);
  const updated = await templates.update(id, actor, Object.keys(change).map(snake), (current) => {
    checkFixed<TemplateSettings>(current, change, ['category', 'serverless']);
    const {
      id: _id,
      accountId: _accountId,
      version: _version,
      createdAt: _createdAt,
      boundEndpointId: _bound,
      ...settings
    } = { ...current, ...change };
    checkTemplate(settings);
    return { settings, replacesWorkers: templateReplacesWorkers(current, settings) };
  });
  if (!updated) throw templateNotFound(id);
  if (updated === 'taken') throw templateNameTaken(change.name ?? '');
  onChanged(updated.endpointIds);
  return updated.template;
}

/** Deletes a template. Throws IN_USE if endpoints use it; the text names those of the account. */
export async function deleteTemplate(
  { templates }: Pick<EndpointContext, 'templates'>,
  actor: Actor,
  id: string,
): Promise<void> {
  const removal = await templates.remove(id, actor);
  if (!removal) throw templateNotFound(id);
  if (!removal.removed) throw inUse(removal);
}

function inUse({ usedBy, usedElsewhere }: Extract<TemplateRemoval, { removed: false }>): DomainError {
  const users = usedBy.join(', ');
  const advice = 'delete these endpoints or give them another template first';
  if (!usedElsewhere) return new DomainError('IN_USE', `The template is used by ${users}; ${advice}.`);
  const all = [...usedBy, 'endpoints of other accounts'].join(', ');
  return new DomainError(
    'IN_USE',
    `The template is used by ${all}; make it private, so that no more of them take it, and leave it to those.`,
  );
}
