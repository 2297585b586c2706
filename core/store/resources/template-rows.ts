/**
 * Queries of templates that other statements use: their size, the right to use them, their locks, and the removal of
 * credentials.
 */
import { and, eq, inArray, or, sql } from '@slipway/drizzle/orm';
import { endpoint } from '@slipway/drizzle/schema/endpoint';
import { template } from '@slipway/drizzle/schema/template';
import type { Actor } from '../../domain/accounts/permission.ts';
import { unknownTemplate } from '../../domain/resources/template.ts';
import { recordChange } from '../accounts/audit-rows.ts';
import type { Transaction } from '../sql/database.ts';
import { envBytes } from '../sql/env-seals.ts';
import { recordReleases } from './release-rows.ts';

/** Size of a template, without and with its variables. */
export const TEMPLATE_BYTES_WITHOUT_ENV = sql`1000 + octet_length(${template.readme})
  + octet_length(${template.exampleInput}) + octet_length(${template.startCommand}::text)
  + octet_length(${template.entrypoint}::text)`;
export const TEMPLATE_BYTES = sql`${TEMPLATE_BYTES_WITHOUT_ENV} + ${envBytes(template)}`;

/** Returns the condition for a template that an account may use: its own or a public one. */
export function usableBy(id: string, accountId: string) {
  return and(eq(template.id, id), or(eq(template.accountId, accountId), eq(template.public, true)));
}

/**
 * Locks a template against deletion until the transaction ends. A transaction that stores a reference to it must call
 * this, before it locks the referring row, in the same order as changes of templates. Throws INVALID_REQUEST if the
 * account may not use it.
 */
export async function holdTemplate(tx: Transaction, accountId: string, id: string): Promise<void> {
  const rows = await tx.select({ id: template.id }).from(template).where(usableBy(id, accountId)).for('key share');
  if (rows.length === 0) throw unknownTemplate(id);
}

/**
 * Removes registry credentials from the templates of an account that name them, as a change of each. Returns the
 * endpoints whose workers are replaced. The credentials must be locked already.
 */
export async function dropRegistryAuth(tx: Transaction, actor: Actor, registryAuthId: string): Promise<string[]> {
  const templates = await tx
    .update(template)
    .set({ registryAuthId: null, version: sql`${template.version} + 1` })
    .where(and(eq(template.accountId, actor.accountId), eq(template.registryAuthId, registryAuthId)))
    .returning({ id: template.id });
  const ids = templates.map(({ id }) => id);
  const raised = await tx
    .update(endpoint)
    .set({ version: sql`${endpoint.version} + 1` })
    .where(and(inArray(endpoint.templateId, ids), eq(endpoint.accountId, actor.accountId)))
    .returning({ id: endpoint.id, version: endpoint.version });
  const fields = ['registry_auth_id'];
  await recordReleases(tx, { keyId: actor.keyId, action: 'UpdateTemplate', fields, isNew: true }, raised);
  const values = { registry_auth_id: { old: registryAuthId } };
  for (const id of ids) await recordChange(tx, { ...actor, action: 'UpdateTemplate', subjectId: id, fields, values });
  return raised.map(({ id }) => id);
}
