/** Deletes a template. */
import { DomainError } from '../domain/errors.ts';
import type { EndpointContext } from './context.ts';
import { templateNotFound } from './get-template.ts';

/** IN_USE: endpoints use it; the text names them. */
export async function deleteTemplate({ templates }: Pick<EndpointContext, 'templates'>, accountId: string, id: string): Promise<void> {
  const removal = await templates.remove(id, accountId);
  if (!removal) throw templateNotFound(id);
  if (!removal.removed) {
    const users = removal.usedBy.join(', ');
    throw new DomainError('IN_USE', `The template is used by ${users}; delete these endpoints or give them another template first.`);
  }
}
