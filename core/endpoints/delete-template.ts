/** Deletes a template. */
import type { Actor } from '../domain/access.ts';
import { DomainError } from '../domain/errors.ts';
import type { EndpointContext } from './context.ts';
import { templateNotFound } from './get-template.ts';

/** IN_USE: endpoints use it; the text names them. */
export async function deleteTemplate({ templates }: Pick<EndpointContext, 'templates'>, actor: Actor, id: string): Promise<void> {
  const removal = await templates.remove(id, actor);
  if (!removal) throw templateNotFound(id);
  if (!removal.removed) {
    const users = removal.usedBy.join(', ');
    throw new DomainError('IN_USE', `The template is used by ${users}; delete these endpoints or give them another template first.`);
  }
}
