/**
 * References to secrets in environments, `{{ RUNPOD_SECRET_name }}`, and their replacement by values when a worker or
 * pod starts. Pure. A value is never searched for references.
 */

import { NAME_LENGTH_MAX } from '../settings/fields.ts';

/** Variables with which a worker or pod is to start. */
export interface StartVariables {
  env: Readonly<Record<string, string>>;
  /** Variables that come from another account's public template. They get no secrets. */
  foreign: readonly string[];
}

/** Reasons why variables cannot be resolved. */
export type SecretRefusalKind = 'SECRET_UNKNOWN' | 'SECRET_UNREADABLE' | 'SECRET_OF_FOREIGN_TEMPLATE' | 'ENV_TOO_LARGE';

/** Why a worker or pod is not started. */
export interface SecretRefusal {
  kind: SecretRefusalKind;
  /** Name of the secret. Empty if the refusal is about all of them. */
  secret: string;
  /** Name of the variable. Empty if the refusal is about all of them. */
  variable: string;
}

/** Value of a secret. `unreadable`: it does not open. `undefined`: there is no such secret. */
export type SecretValue = string | { unreadable: true } | undefined;

/** Largest environment in bytes, as JSON, with the values of its secrets. */
export const RESOLVED_ENV_BYTES_MAX = 262_144;

/** The name goes up to the braces, so that a long text without them takes no longer than its length. */
const REFERENCE = /\{\{\s*RUNPOD_SECRET_([^{}]*)\}\}/g;

const TEXTS: Record<SecretRefusalKind, (refusal: SecretRefusal) => string> = {
  SECRET_UNKNOWN: ({ secret, variable }) =>
    `its variable ${variable} names the secret ${quoted(secret)}, which the account does not have`,
  SECRET_UNREADABLE: ({ secret, variable }) =>
    `the secret ${quoted(secret)} of its variable ${variable} does not open with the secret key of this installation`,
  SECRET_OF_FOREIGN_TEMPLATE: ({ secret, variable }) =>
    `its template is another account's and names the secret ${quoted(secret)} in ${variable}, ` +
    'and such templates get no secrets',
  ENV_TOO_LARGE: () =>
    `its variables have more than ${RESOLVED_ENV_BYTES_MAX} bytes together with the values of their secrets`,
};

const CHANGES: Record<SecretRefusalKind, (refusal: SecretRefusal) => string> = {
  SECRET_UNKNOWN: ({ secret, variable }) => `create it (slipway secrets set ${secret}), or correct ${variable}`,
  SECRET_UNREADABLE: ({ secret }) => `set its value again (slipway secrets set ${secret})`,
  SECRET_OF_FOREIGN_TEMPLATE: ({ variable }) =>
    `set ${variable} in the variables of the endpoint or pod itself: a secret that these name is given`,
  ENV_TOO_LARGE: () => 'store shorter values, or put what is large into a file',
};

/** Returns the refusal as a clause, without its remedy. */
export function secretRefusalText(refusal: SecretRefusal): string {
  return TEXTS[refusal.kind](shortened(refusal));
}

/** Returns the remedy as a clause. */
export function secretRefusalChange(refusal: SecretRefusal): string {
  return CHANGES[refusal.kind](shortened(refusal));
}

/** Returns the names of the secrets that an environment mentions, sorted, each once. */
export function secretNamesOf(env: Readonly<Record<string, string>>): string[] {
  const names = Object.values(env).flatMap((value) => [...value.matchAll(REFERENCE)].map((match) => match[1]!.trim()));
  return [...new Set(names)].toSorted();
}

/**
 * Returns the environment with the values of its secrets, or the first reason why there is none. Then `env` has the
 * variables that could be resolved.
 */
export function resolveSecrets(
  { env, foreign }: StartVariables,
  valueOf: (name: string) => SecretValue,
): { env: Record<string, string>; refusal?: SecretRefusal } {
  const refusals: SecretRefusal[] = [];
  const entries = Object.entries(env).flatMap(([variable, text]): [string, string][] => {
    const before = refusals.length;
    const resolved = text.replace(REFERENCE, (_all, name: string) => {
      const secret = name.trim();
      const value = foreign.includes(variable) ? undefined : valueOf(secret);
      if (typeof value === 'string') return value;
      refusals.push({ kind: kindOf(foreign.includes(variable), value), secret, variable });
      return '';
    });
    return refusals.length === before ? [[variable, resolved]] : [];
  });
  const resolved = Object.fromEntries(entries);
  const [first] = refusals;
  if (first) return { env: resolved, refusal: first };
  if (secretNamesOf(env).length > 0 && Buffer.byteLength(JSON.stringify(resolved)) > RESOLVED_ENV_BYTES_MAX)
    return { env: {}, refusal: { kind: 'ENV_TOO_LARGE', secret: '', variable: '' } };
  return { env: resolved };
}

function kindOf(isForeign: boolean, value: Exclude<SecretValue, string>): SecretRefusalKind {
  if (isForeign) return 'SECRET_OF_FOREIGN_TEMPLATE';
  return value === undefined ? 'SECRET_UNKNOWN' : 'SECRET_UNREADABLE';
}

/** Returns the refusal with a short name: references may name anything, of any length. */
function shortened(refusal: SecretRefusal): SecretRefusal {
  return { ...refusal, secret: refusal.secret.slice(0, NAME_LENGTH_MAX) };
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
