/**
 * What endpoints run of public templates of other accounts: a copy, taken when the endpoint's owner names the template.
 * Whoever changes his template changes what his own endpoints run, and nobody else's.
 */
import { eq, sql } from '@slipway/drizzle/orm';
import { endpoint } from '@slipway/drizzle/schema/endpoint';
import { givenTemplate } from '@slipway/drizzle/schema/given-template';
import { template } from '@slipway/drizzle/schema/template';
import type { Actor } from '../../domain/accounts/permission.ts';
import { OTHER_ACCOUNT } from '../../domain/accounts/permission.ts';
import type { Template } from '../../domain/resources/template.ts';
import { recordChange } from '../accounts/audit-rows.ts';
import type { Transaction } from '../sql/database.ts';
import { textArray } from '../sql/pack.ts';

type TemplateRow = typeof template.$inferSelect;
type GivenRow = typeof givenTemplate.$inferSelect;

/**
 * Gives an endpoint a template as it stands: a copy of another account's, which hears of it; of its own none, because
 * it follows that. Call it in the transaction that names the template, which is held. True: what the endpoint runs
 * changes.
 */
export async function pinTemplate(
  tx: Transaction,
  actor: Actor,
  endpointId: string,
  templateId: string,
): Promise<boolean> {
  const [row] = await tx.select().from(template).where(eq(template.id, templateId));
  if (!row || row.accountId === actor.accountId) {
    await tx.delete(givenTemplate).where(eq(givenTemplate.endpointId, endpointId));
    return false;
  }
  const [before] = await tx
    .select({ version: givenTemplate.version, templateId: endpoint.templateId })
    .from(givenTemplate)
    .innerJoin(endpoint, eq(endpoint.id, givenTemplate.endpointId))
    .where(eq(givenTemplate.endpointId, endpointId));
  if (before?.version === row.version && before.templateId === templateId) return false;
  const given = { ...programOf(row), version: row.version };
  await tx
    .insert(givenTemplate)
    .values({ ...given, endpointId })
    .onConflictDoUpdate({ target: givenTemplate.endpointId, set: { ...given, givenAt: sql`now()` } });
  await recordChange(tx, {
    accountId: row.accountId,
    keyId: OTHER_ACCOUNT,
    action: 'UseTemplate',
    subjectId: templateId,
    fields: [],
  });
  return true;
}

/**
 * Tells the other accounts that use a template that there is a new version of it. `fields` are those that its owner
 * named.
 */
export async function tellUsers(
  tx: Transaction,
  { id, accountId }: Pick<TemplateRow, 'id' | 'accountId'>,
  fields: readonly string[],
): Promise<void> {
  await tx.execute(sql`
    INSERT INTO audit_event (account_id, key_id, action, subject_id, fields)
    SELECT DISTINCT e.account_id, ${OTHER_ACCOUNT}, 'UpdateTemplate', ${id}, ${textArray(fields)}::text[]
    FROM endpoint e WHERE e.template_id = ${id} AND e.account_id <> ${accountId}`);
}

/** A template as an endpoint runs it. What its owner writes about one that is private by now is his. */
export function asPinned<Row extends TemplateRow | Template>(row: Row, given: GivenRow | null): Row {
  return given ? { ...row, ...programOf(given), version: given.version, readme: row.public ? row.readme : '' } : row;
}

function programOf(row: TemplateRow | GivenRow) {
  const {
    imageName,
    startCommand,
    entrypoint,
    env,
    envSealed,
    workingDirectory,
    containerDiskGb,
    volumeGb,
    volumeMountPath,
    ports,
  } = row;
  return {
    imageName,
    startCommand,
    entrypoint,
    env,
    envSealed,
    workingDirectory,
    containerDiskGb,
    volumeGb,
    volumeMountPath,
    ports,
  };
}
