/** Deletes a template. */
import type { Actor } from '../domain/access.ts';
import { DomainError } from '../domain/errors.ts';
import type { TemplateRemoval } from '../store/template-store.ts';
import type { EndpointContext } from './context.ts';
import { templateNotFound } from './get-template.ts';

/** IN_USE: endpoints use it; the text names those of the account. */
export async function deleteTemplate({ templates }: Pick<EndpointContext, 'templates'>, actor: Actor, id: string): Promise<void> {
  const removal = await templates.remove(id, actor);
  if (!removal) throw templateNotFound(id);
  if (!removal.removed) throw inUse(removal);
}

function inUse({ usedBy, usedElsewhere }: Extract<TemplateRemoval, { removed: false }>): DomainError {
  const users = usedBy.join(', ');
  const advice = 'delete these endpoints or give them another template first';
  if (!usedElsewhere) return new DomainError('IN_USE', `The template is used by ${users}; ${advice}.`);
  const all = [...usedBy, 'endpoints of other accounts'].join(', ');
  return new DomainError('IN_USE', `The template is used by ${all}; make it private, so that no more of them take it, and leave it to those.`);
}
