/**
 * Encrypts environments at rest: they contain passwords and keys, so each is encrypted for the row that it belongs to
 * (core/domain/settings/sealed-identity.ts).
 */

import { sql } from '@slipway/drizzle/orm';
import type { Sealer } from '@slipway/kit/host/seal';
import type { Column, SQL } from 'drizzle-orm';

/** Columns of a row with its environment. */
export interface EnvColumns {
  /** Plaintext from a release without encryption. Empty since. */
  env: Record<string, string>;
  /** Null: empty. */
  envSealed: Buffer | null;
}

/** Returns the columns of a row for this environment. */
export function sealEnv(sealer: Sealer, env: Readonly<Record<string, string>>, identity: string): EnvColumns {
  return {
    env: {},
    envSealed: Object.keys(env).length === 0 ? null : sealer.seal(Buffer.from(JSON.stringify(env)), identity),
  };
}

/**
 * Returns the environment of a row. Plaintext takes precedence: only a replica of an earlier release, which does not
 * know the other column, writes it. Throws SealError if the environment cannot be decrypted.
 */
export function openEnv(sealer: Sealer, { env, envSealed }: EnvColumns, identity: string): Record<string, string> {
  if (Object.keys(env).length > 0 || envSealed === null) return env;
  return JSON.parse(sealer.open(envSealed, identity).toString()) as Record<string, string>;
}

/** Returns the size of the environment of a row. */
export function envBytes({ env, envSealed }: Record<keyof EnvColumns, Column>): SQL {
  return sql`octet_length(${env}::text) + coalesce(octet_length(${envSealed}), 0)`;
}
