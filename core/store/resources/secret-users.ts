/** Templates, endpoints and pods that mention secrets: lists them, and ends the back-off of what could not start. */
import { sql } from '@slipway/drizzle/orm';
import type { SecretUse, SecretUser } from '../../domain/resources/secret.ts';
import { SECRET_USERS_NAMED_MAX } from '../../domain/resources/secret.ts';
import type { Sql, Transaction } from '../sql/database.ts';

/** Workloads that may start now. */
export interface DueStarts {
  /** Endpoints whose crashed workers may be replaced at once. */
  endpointIds: string[];
  /** Machines whose pods begin a new run. */
  machineIds: string[];
}

type UserRow = SecretUser & { secret: string; count: number };

/**
 * Returns the users of these secrets by name. Names without users are left out. A template that only one endpoint runs
 * counts as that endpoint.
 */
export async function readSecretUsers(
  statement: Sql,
  accountId: string,
  names: readonly string[],
): Promise<Map<string, SecretUse>> {
  if (names.length === 0) return new Map();
  const rows = await statement<UserRow[]>`
    SELECT secret, kind, id, name, count::int FROM (
      SELECT m.*, count(*) OVER (PARTITION BY secret) AS count,
        row_number() OVER (PARTITION BY secret ORDER BY rank, name, id) AS place FROM (
        SELECT unnest(t.secret_names) AS secret, 1 AS rank, 'TEMPLATE' AS kind, t.id, t.name FROM template t
        WHERE t.account_id = ${accountId} AND t.secret_names && ${[...names]}::text[] AND t.bound_endpoint_id IS NULL
        UNION SELECT unnest(t.secret_names), 2, 'ENDPOINT', e.id, e.name
        FROM template t JOIN endpoint e ON e.id = t.bound_endpoint_id
        WHERE t.account_id = ${accountId} AND t.secret_names && ${[...names]}::text[]
        UNION SELECT unnest(e.secret_names), 2, 'ENDPOINT', e.id, e.name FROM endpoint e
        WHERE e.account_id = ${accountId} AND e.secret_names && ${[...names]}::text[]
        UNION SELECT unnest(p.secret_names), 3, 'POD', p.id, p.name FROM pod p
        WHERE p.account_id = ${accountId} AND p.secret_names && ${[...names]}::text[]) AS m
      WHERE secret = ANY(${[...names]})) AS u
    WHERE place <= ${SECRET_USERS_NAMED_MAX} ORDER BY secret, place`;
  const found = new Map<string, SecretUse>();
  for (const { secret, count, kind, id, name } of rows) {
    const use = found.get(secret) ?? { users: [], count };
    use.users.push({ kind, id, name });
    found.set(secret, use);
  }
  return found;
}

/**
 * Ends back-offs of an account's workloads that mention a secret. Crashed workers may be replaced now, as a first try.
 * Failed pods begin a new run, for which their spec is read again. `isNew`: so do pods that are to start and cannot
 * have started without the secret.
 */
export async function endPauses(
  tx: Transaction,
  { accountId, name }: { accountId: string; name: string },
  isNew: boolean,
): Promise<DueStarts> {
  const workers = await tx.execute<{ endpoint_id: string }>(sql`
    UPDATE worker w SET retry_at = now(), failures = 0
    FROM (SELECT w.id FROM worker w JOIN endpoint e ON e.id = w.endpoint_id JOIN template t ON t.id = e.template_id
      WHERE e.account_id = ${accountId}
        AND (${name} = ANY(e.secret_names) OR (${name} = ANY(t.secret_names) AND t.account_id = e.account_id))
        AND w.state = 'UNHEALTHY' AND w.retry_at > now() ORDER BY w.id FOR NO KEY UPDATE OF w) l
    WHERE w.id = l.id RETURNING w.endpoint_id`);
  const pods = await tx.execute<{ machine_id: string }>(sql`
    UPDATE pod p SET run = run + 1, state = 'STARTING', status_text = '', exit_code = NULL, last_started_at = now(),
      state_changed_at = now()
    FROM (SELECT id FROM pod WHERE account_id = ${accountId} AND ${name} = ANY(secret_names) AND desired = 'RUNNING'
      AND (state = 'FAILED' OR (state = 'STARTING' AND ${isNew})) ORDER BY id FOR UPDATE) l
    WHERE p.id = l.id RETURNING p.machine_id`);
  return {
    endpointIds: [...new Set(workers.map((row) => row.endpoint_id))],
    machineIds: [...new Set(pods.map((row) => row.machine_id))],
  };
}
