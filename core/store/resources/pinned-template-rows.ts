/**
 * Pinned template versions: copies of other accounts' public templates, made when an endpoint's owner names the
 * template. A change of a template affects only endpoints of its account.
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
 * Pins the current version of a template for an endpoint: a copy if it belongs to another account, which gets an audit
 * event; nothing if it belongs to the same account, because the endpoint follows it. Must run in the transaction that
 * names the template and holds it. Returns true if the endpoint's program changes.
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
 * Notifies the other accounts that use a template of a new version. `fields`: names of the fields that its owner set.
 */
export async function notifyUsers(
  tx: Transaction,
  { id, accountId }: Pick<TemplateRow, 'id' | 'accountId'>,
  fields: readonly string[],
): Promise<void> {
  await tx.execute(sql`
    INSERT INTO audit_event (account_id, key_id, action, subject_id, fields, subject_name)
    SELECT DISTINCT e.account_id, ${OTHER_ACCOUNT}, 'UpdateTemplate', ${id}, ${textArray(fields)}::text[],
      t.name
    FROM endpoint e JOIN template t ON t.id = e.template_id
    WHERE e.template_id = ${id} AND e.account_id <> ${accountId}`);
}

/**
 * Returns a template as the endpoint runs it. The readme and the example of a template that is no longer public are
 * left out.
 */
export function asPinned<Row extends TemplateRow | Template>(row: Row, given: GivenRow | null): Row {
  if (!given) return row;
  const unseen = row.public ? {} : { readme: '', exampleInput: '' };
  return { ...row, ...programOf(given), version: given.version, ...unseen };
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
