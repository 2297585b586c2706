/**
 * Environments at rest: they hold passwords and keys, so each is sealed for the row that it belongs to
 * (core/domain/settings/sealed-identity.ts).
 */

import { sql } from '@slipway/drizzle/orm';
import type { Sealer } from '@slipway/kit/host/seal';
import type { Column, SQL } from 'drizzle-orm';

/** The columns of a row that hold its environment. */
export interface EnvColumns {
  /** In the clear, as a release before sealing wrote it; else empty. */
  env: Record<string, string>;
  /** Null: empty. */
  envSealed: Buffer | null;
}

/** What to write into a row for this environment. */
export function sealEnv(sealer: Sealer, env: Readonly<Record<string, string>>, identity: string): EnvColumns {
  return {
    env: {},
    envSealed: Object.keys(env).length === 0 ? null : sealer.seal(Buffer.from(JSON.stringify(env)), identity),
  };
}

/**
 * The environment of a row. What is in the clear wins: only a replica of an earlier release, which knows nothing of the
 * other column, writes it. SealError: it does not open.
 */
export function openEnv(sealer: Sealer, { env, envSealed }: EnvColumns, identity: string): Record<string, string> {
  if (Object.keys(env).length > 0 || envSealed === null) return env;
  return JSON.parse(sealer.open(envSealed, identity).toString()) as Record<string, string>;
}

/** Size of the environment of a row. */
export function envBytes({ env, envSealed }: Record<keyof EnvColumns, Column>): SQL {
  return sql`octet_length(${env}::text) + coalesce(octet_length(${envSealed}), 0)`;
}
