/**
 * Encrypts the plaintext rows of releases that did not encrypt, and records which secrets environments of earlier
 * releases mention. SQL cannot encrypt, so no migration could do it.
 */

import type { Sealer } from '@slipway/kit/host/seal';
import { SealError } from '@slipway/kit/host/seal';
import {
  endpointEnvIdentity,
  podEnvIdentity,
  templateEnvIdentity,
  webhookIdentity,
} from '../../domain/settings/sealed-identity.ts';
import type { Database, Sql } from '../sql/database.ts';
import { inTransaction } from '../sql/database.ts';
import type { EnvColumns } from '../sql/env-seals.ts';
import { mentionedSecrets, openEnv, sealEnv } from '../sql/env-seals.ts';

/** Rows per transaction. */
const BATCH = 200;

const ENVS = [
  ['template', templateEnvIdentity],
  ['endpoint', endpointEnvIdentity],
  ['pod', podEnvIdentity],
] as const;

export class EncryptionBackfillStore {
  readonly #sql: Sql;
  readonly #sealer: Sealer;

  constructor({ sql }: Pick<Database, 'sql'>, sealer: Sealer) {
    this.#sql = sql;
    this.#sealer = sealer;
  }

  /**
   * Encrypts all plaintext rows, once in the life of a database. Returns the number of rows. May run on several
   * replicas at once, and again after an interruption. Webhook calls that were already ordered keep their address in
   * plaintext: they are made and deleted within minutes.
   */
  async seal(signal: AbortSignal): Promise<number> {
    const [done] = await this.#sql`SELECT FROM installation WHERE plain_sealed_at IS NOT NULL`;
    if (done) return 0;
    let sealed = 0;
    for (const [table, identityOf] of ENVS) {
      for (let count = BATCH; count === BATCH && !signal.aborted; sealed += count)
        count = await sealEnvs(this.#sql, this.#sealer, table, identityOf);
    }
    for (let count = BATCH; count === BATCH && !signal.aborted; sealed += count)
      count = await sealGivenEnvs(this.#sql, this.#sealer);
    sealed += await sealWebhooks(this.#sql, this.#sealer, signal);
    if (!signal.aborted) await this.#sql`UPDATE installation SET plain_sealed_at = now()`;
    return sealed;
  }

  /** Records which secrets the environments of earlier releases mention. May run on several replicas at once. */
  async nameSecrets(signal: AbortSignal): Promise<void> {
    for (const [table, identityOf] of ENVS) {
      for (let count = BATCH; count === BATCH && !signal.aborted; )
        count = await nameSecrets(this.#sql, this.#sealer, table, identityOf);
    }
  }
}

/** Records the mentioned secrets of some environments. An environment that cannot be opened mentions none. */
async function nameSecrets(
  sql: Sql,
  sealer: Sealer,
  table: string,
  identityOf: (id: string) => string,
): Promise<number> {
  return await inTransaction(sql, async (tx) => {
    const rows = await tx<{ id: string; env: Record<string, string>; envSealed: Buffer }[]>`
      SELECT id, env, env_sealed AS "envSealed" FROM ${sql(table)} WHERE secret_names IS NULL AND env_sealed IS NOT NULL
      ORDER BY id LIMIT ${BATCH} FOR UPDATE`;
    for (const { id, ...columns } of rows)
      await tx`
        UPDATE ${sql(table)} SET secret_names = ${namesIn(sealer, columns, identityOf(id))}::text[] WHERE id = ${id}`;
    return rows.length;
  });
}

function namesIn(sealer: Sealer, columns: EnvColumns, identity: string): string[] {
  try {
    return mentionedSecrets(openEnv(sealer, columns, identity));
  } catch (error) {
    if (error instanceof SealError) return [];
    throw error;
  }
}

async function sealEnvs(sql: Sql, sealer: Sealer, table: string, identityOf: (id: string) => string): Promise<number> {
  return await inTransaction(sql, async (tx) => {
    const rows = await tx<{ id: string; env: Record<string, string> }[]>`
      SELECT id, env FROM ${sql(table)} WHERE env <> '{}' ORDER BY id LIMIT ${BATCH} FOR UPDATE`;
    for (const { id, env } of rows) {
      await tx`UPDATE ${sql(table)} SET env = '{}', env_sealed = ${sealEnv(sealer, env, identityOf(id)).envSealed}
        WHERE id = ${id}`;
    }
    return rows.length;
  });
}

/**
 * Encrypts the environments of pinned template versions, under the identity of the template, as the template's own row
 * does.
 */
async function sealGivenEnvs(sql: Sql, sealer: Sealer): Promise<number> {
  return await inTransaction(sql, async (tx) => {
    const rows = await tx<{ id: string; template_id: string; env: Record<string, string> }[]>`
      SELECT g.endpoint_id AS id, e.template_id, g.env FROM given_template g JOIN endpoint e ON e.id = g.endpoint_id
      WHERE g.env <> '{}' ORDER BY g.endpoint_id LIMIT ${BATCH} FOR UPDATE OF g`;
    for (const { id, template_id: templateId, env } of rows) {
      const { envSealed } = sealEnv(sealer, env, templateEnvIdentity(templateId));
      await tx`UPDATE given_template SET env = '{}', env_sealed = ${envSealed} WHERE endpoint_id = ${id}`;
    }
    return rows.length;
  });
}

/** Encrypts webhooks. Walks the primary key once, because the table may be large and few of its rows have a webhook. */
async function sealWebhooks(sql: Sql, sealer: Sealer, signal: AbortSignal): Promise<number> {
  let sealed = 0;
  let after = { endpoint_id: '', job_id: '' };
  for (let count = BATCH; count === BATCH && !signal.aborted; sealed += count) {
    const rows = await sql<{ endpoint_id: string; job_id: string; webhook: string }[]>`
      SELECT endpoint_id, job_id, webhook FROM job_input
      WHERE (endpoint_id, job_id) > (${after.endpoint_id}, ${after.job_id}) AND webhook IS NOT NULL
        ORDER BY endpoint_id, job_id LIMIT ${BATCH}`;
    for (const { endpoint_id: endpointId, job_id: jobId, webhook } of rows) {
      const secret = sealer.seal(Buffer.from(webhook), webhookIdentity(endpointId, jobId));
      await sql`UPDATE job_input SET webhook = NULL, webhook_sealed = ${secret} WHERE endpoint_id = ${endpointId}
        AND job_id = ${jobId}`;
    }
    after = rows.at(-1) ?? after;
    count = rows.length;
  }
  return sealed;
}
