/** Reads a template. */
import { DomainError } from '../domain/errors.ts';
import type { Template } from '../domain/template.ts';
import type { EndpointContext } from './context.ts';

/** `only`: the endpoints whose templates a restricted key may see; empty = all. TEMPLATE_NOT_FOUND: neither in this account nor public. */
export async function getTemplate(
  { templates }: Pick<EndpointContext, 'templates'>, accountId: string, id: string, only: readonly string[],
): Promise<Template> {
  const found = await templates.usable(id, accountId);
  if (!found || (only.length > 0 && !(await templates.isUsedBy(id, accountId, only)))) throw templateNotFound(id);
  return found;
}

/** The refusal of a template that the account cannot see. */
export function templateNotFound(id: string): DomainError {
  return new DomainError('TEMPLATE_NOT_FOUND', `There is no template ${JSON.stringify(id.slice(0, 64))} in this account.`);
}
