/** Templates that other statements name: their size, and who may use them. */
import { and, eq, or, sql } from '../../drizzle/orm.ts';
import { template } from '../../drizzle/schema/template.ts';
import { unknownTemplate } from '../domain/template.ts';
import type { Transaction } from './database.ts';
import { envBytes } from './env-seals.ts';

/** Size of a template. */
export const TEMPLATE_BYTES = sql`1000 + octet_length(${template.readme}) + ${envBytes(template)} + octet_length(${template.startCommand}::text)
  + octet_length(${template.entrypoint}::text)`;

/** Templates that an account may use: its own and public ones. */
export function usableBy(id: string, accountId: string) {
  return and(eq(template.id, id), or(eq(template.accountId, accountId), eq(template.public, true)));
}

/**
 * Locks a template against deletion until the transaction ends: who stores a reference to it calls this in the same transaction, before he
 * locks what refers to it, as changes of templates do. INVALID_REQUEST: the account may not use it.
 */
export async function holdTemplate(tx: Transaction, accountId: string, id: string): Promise<void> {
  const rows = await tx.select({ id: template.id }).from(template).where(usableBy(id, accountId)).for('key share');
  if (rows.length === 0) throw unknownTemplate(id);
}
