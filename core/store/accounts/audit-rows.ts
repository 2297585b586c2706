/** Writes the rows of the audit trail, each in the transaction of its change. */
import { sql } from '@slipway/drizzle/orm';
import type { Actor } from '../../domain/accounts/permission.ts';
import { OTHER_ACCOUNT } from '../../domain/accounts/permission.ts';
import type { ReleaseValue } from '../../domain/resources/release-values.ts';
import type { Transaction } from '../sql/database.ts';
import { textArray } from '../sql/pack.ts';
import { currentSource } from './call-source.ts';

/** A change and its author. Empty account: it concerns the installation. */
export interface Change extends Actor {
  /** Name of the RPC. */
  action: string;
  subjectId: string;
  /** Name of the resource. Default: the name in its row now. */
  subjectName?: string;
  /** Names of the fields that were set. */
  fields: readonly string[];
  /** Old and new values of the fields that changed, without secrets. Default: none. */
  values?: Readonly<Record<string, ReleaseValue>>;
}

/** Longest values of a change as JSON, all together, in characters. */
const VALUES_LENGTH_MAX = 8_192;
/** Longest name that is stored, in characters. */
const NAME_LENGTH_MAX = 256;

/** Tables of resources with a name, by the last word of the action. */
const NAMED: readonly [action: RegExp, table: string, name: string][] = [
  [/(?:Endpoint|Jobs|Queue)$/, 'endpoint', 'name'],
  [/Template$/, 'template', 'name'],
  [/NetworkVolume$/, 'network_volume', 'name'],
  [/RegistryAuth$/, 'registry_auth', 'name'],
  [/[a-z]Secret$/, 'secret', 'name'],
  [/Pod$/, 'pod', 'name'],
  [/Machine$/, 'machine', 'name'],
  [/(?:Create|Revoke)Key$/, 'api_key', 'name'],
  [/AlertTarget$/, 'alert_target', 'name'],
  [/(?:Account|Quota)$/, 'account', 'name'],
  [/File$/, 'account_file', 'filename'],
];

/** Records a change. `tx`: the transaction that makes it. A deletion is recorded before the row is deleted. */
export async function recordChange(tx: Pick<Transaction, 'execute'>, change: Change): Promise<void> {
  const { accountId, keyId, action, subjectId, fields, values = {} } = change;
  // One account must not learn the address of another.
  const { address, via } = keyId === OTHER_ACCOUNT ? { address: '', via: '' } : currentSource();
  await tx.execute(sql`
    INSERT INTO audit_event
      (account_id, key_id, action, subject_id, fields, values, key_name, subject_name, address, via)
    VALUES (${accountId || null}, ${keyId}, ${action}, ${subjectId}, ${textArray(fields)}::text[],
      ${JSON.stringify(bounded(values))}::text::jsonb,
      left(coalesce((SELECT name FROM api_key WHERE id = ${keyId}), ''), ${NAME_LENGTH_MAX}::int),
      left(coalesce(${subjectNameOf(change)}, ''), ${NAME_LENGTH_MAX}::int), ${address}, ${via})`);
}

function subjectNameOf({ action, subjectId, subjectName }: Change) {
  if (subjectName !== undefined) return sql`${subjectName}::text`;
  const [, table, name] = NAMED.find(([form]) => form.test(action)) ?? [];
  if (table === undefined || name === undefined) return sql`''`;
  return sql`(SELECT ${sql.identifier(name)} FROM ${sql.identifier(table)} WHERE id = ${subjectId})`;
}

/** Returns the first values that together are not too long. */
function bounded(values: Readonly<Record<string, ReleaseValue>>): Record<string, ReleaseValue> {
  let left = VALUES_LENGTH_MAX;
  return Object.fromEntries(
    Object.entries(values).filter((entry) => {
      left -= JSON.stringify(entry).length;
      return left >= 0;
    }),
  );
}
