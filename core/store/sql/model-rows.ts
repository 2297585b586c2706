/** SQL about the models of endpoints. References are stored as `org/name` or `org/name:revision`. */
import { DEFAULT_REVISION } from '../../domain/machines/model-reference.ts';
import type { Fragment, Sql } from './database.ts';

/** Returns the repository of a reference. */
export function repositoryOf(sql: Sql, reference: Fragment): Fragment {
  return sql`split_part(${reference}, ':', 1)`;
}

/** Returns the revision of a reference. */
export function revisionOf(sql: Sql, reference: Fragment): Fragment {
  return sql`coalesce(nullif(split_part(${reference}, ':', 2), ''), ${DEFAULT_REVISION})`;
}

/** Returns the bytes of the models in an array of references, as far as machines have reported them. 0: not known. */
export function modelBytes(sql: Sql, references: Fragment): Fragment {
  return sql`CASE WHEN ${references} = '{}' THEN 0 ELSE (
    SELECT coalesce(sum(largest), 0)::bigint FROM unnest(${references}) AS r CROSS JOIN LATERAL (
      SELECT max(m.size_bytes) AS largest FROM machine_model m
      WHERE m.repository = ${repositoryOf(sql, sql`r`)} AND m.revision = ${revisionOf(sql, sql`r`)}) AS known) END`;
}

/** Returns the columns of a machine's model `m`, with its machine `n`. */
export function modelColumns(sql: Sql): Fragment {
  return sql`n.id AS "machineId", n.name AS "machineName", m.repository, m.revision, m.commit, m.state,
    m.size_bytes AS "sizeBytes", m.downloaded_bytes AS "downloadedBytes", m.fault, m.error,
    m.account_number AS "accountNumber"`;
}

/**
 * Returns the FROM of the models `m` on machines `n` that endpoints `e` of accounts `a` refer to and may use. Machines
 * that are not connected are left out: nothing is known of them.
 */
export function endpointModels(sql: Sql): Fragment {
  return sql`FROM endpoint e JOIN account a ON a.id = e.account_id CROSS JOIN LATERAL unnest(e.model_references) AS r
    JOIN machine_model m ON m.repository = ${repositoryOf(sql, sql`r`)} AND m.revision = ${revisionOf(sql, sql`r`)}
      AND m.account_number IN (0, a.number)
    JOIN machine n ON n.id = m.machine_id AND n.session_id IS NOT NULL AND n.lease_expires_at > now()`;
}
