/** Creates a template. */
import type { Actor } from '../domain/access.ts';
import { DomainError } from '../domain/errors.ts';
import { checkTemplate } from '../domain/template.ts';
import type { Template, TemplateSettings } from '../domain/template.ts';
import type { EndpointContext } from './context.ts';

const ID_LENGTH = 10;

/** NAME_TAKEN: the account has a template of this name. INVALID_REQUEST: a field is out of range, or the registry credentials are unknown. */
export async function createTemplate(
  { templates, random }: Pick<EndpointContext, 'templates' | 'random'>, actor: Actor, settings: TemplateSettings,
): Promise<Template> {
  checkTemplate(settings);
  const made = await templates.create(random.id(ID_LENGTH), actor, settings);
  if (!made) throw nameTaken(settings.name);
  return made;
}

/** The refusal of a name. */
export function nameTaken(name: string): DomainError {
  return new DomainError('NAME_TAKEN', `The account already has a template called ${JSON.stringify(name)}; choose another name.`);
}
