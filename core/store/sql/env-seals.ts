/**
 * Encrypts environments at rest: they contain passwords and keys, so each is encrypted for the row that it belongs to
 * (core/domain/settings/sealed-identity.ts).
 */

import { sql } from '@slipway/drizzle/orm';
import type { Sealer } from '@slipway/kit/host/seal';
import type { Column, SQL } from 'drizzle-orm';
import type { StartVariables } from '../../domain/resources/secret-reference.ts';
import { secretNamesOf } from '../../domain/resources/secret-reference.ts';
import { NAME_LENGTH_MAX } from '../../domain/settings/fields.ts';

/** Columns of a row with its environment. */
export interface EnvColumns {
  /** Plaintext from a release without encryption. Empty since. */
  env: Record<string, string>;
  /** Null: empty. */
  envSealed: Buffer | null;
}

/** Columns to write for an environment. */
interface WrittenEnvColumns extends EnvColumns {
  /** Names of the secrets that it mentions. */
  secretNames: string[];
}

/**
 * Returns the names of the secrets that an environment mentions, for the column of a row. Longer ones than any secret
 * has are cut.
 */
export function mentionedSecrets(env: Readonly<Record<string, string>>): string[] {
  return secretNamesOf(env).map((name) => name.slice(0, NAME_LENGTH_MAX));
}

/** Returns the columns of a row for this environment. */
export function sealEnv(sealer: Sealer, env: Readonly<Record<string, string>>, identity: string): WrittenEnvColumns {
  return {
    env: {},
    secretNames: mentionedSecrets(env),
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

/**
 * Returns the variables of a template with those of an endpoint or pod over them. `isForeign`: the template is another
 * account's.
 */
export function overTemplate(
  templateEnv: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>>,
  isForeign: boolean,
): StartVariables {
  const foreign = isForeign ? Object.keys(templateEnv).filter((name) => !Object.hasOwn(env, name)) : [];
  return { env: { ...templateEnv, ...env }, foreign };
}
