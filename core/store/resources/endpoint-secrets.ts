/** Finds endpoints whose environment cannot be resolved, because it names secrets that the account does not have. */

import type { Sealer } from '@slipway/kit/host/seal';
import type { SecretRefusal } from '../../domain/resources/secret-reference.ts';
import { resolveSecrets } from '../../domain/resources/secret-reference.ts';
import { endpointEnvIdentity, templateEnvIdentity } from '../../domain/settings/sealed-identity.ts';
import type { Sql } from '../sql/database.ts';
import { openEnv, overTemplate } from '../sql/env-seals.ts';

interface MissingRow {
  id: string;
  templateId: string;
  isForeign: boolean;
  /** Names that the environments mention and the account does not have. */
  missing: string[];
  templateEnv: Record<string, string>;
  templateEnvSealed: Buffer | null;
  endpointEnv: Record<string, string>;
  endpointEnvSealed: Buffer | null;
}

/**
 * Returns the given endpoints whose new workers are not started, with the reason. The columns of mentioned names
 * find the few that may be, whose environments are then decrypted: an endpoint may override a variable of its template.
 */
export async function endpointsWithoutSecrets(
  sql: Sql,
  sealer: Sealer,
  endpointIds: readonly string[],
): Promise<Map<string, SecretRefusal>> {
  const rows = await sql<MissingRow[]>`
    SELECT e.id, t.id AS "templateId", t.account_id <> e.account_id AS "isForeign", m.missing,
      coalesce(g.env, t.env) AS "templateEnv",
      CASE WHEN g.endpoint_id IS NULL THEN t.env_sealed ELSE g.env_sealed END AS "templateEnvSealed",
      e.env AS "endpointEnv", e.env_sealed AS "endpointEnvSealed"
    FROM endpoint e JOIN template t ON t.id = e.template_id LEFT JOIN given_template g ON g.endpoint_id = e.id
      CROSS JOIN LATERAL (SELECT array_agg(n) AS missing
        FROM unnest(e.secret_names || CASE WHEN t.account_id = e.account_id THEN t.secret_names END) AS n
        WHERE NOT EXISTS (SELECT FROM secret s WHERE s.account_id = e.account_id AND s.name = n)) AS m
    WHERE e.id = ANY(${[...endpointIds]}) AND num_nonnulls(e.secret_names, t.secret_names) > 0
      AND (m.missing IS NOT NULL OR (t.account_id <> e.account_id AND t.secret_names <> '{}'))`;
  return new Map(rows.flatMap((row) => refusalOf(sealer, row)));
}

function refusalOf(sealer: Sealer, row: MissingRow): [string, SecretRefusal][] {
  const { id, templateId, isForeign, templateEnv, templateEnvSealed, endpointEnv, endpointEnvSealed } = row;
  const missing = new Set(row.missing ?? []);
  const start = overTemplate(
    openEnv(sealer, { env: templateEnv, envSealed: templateEnvSealed }, templateEnvIdentity(templateId)),
    openEnv(sealer, { env: endpointEnv, envSealed: endpointEnvSealed }, endpointEnvIdentity(id)),
    isForeign,
  );
  const { refusal } = resolveSecrets(start, (name) => (missing.has(name) ? undefined : ''));
  return refusal ? [[id, refusal]] : [];
}
