/**
 * Finds values of an environment that a person must check: keys and addresses of the source, plaintext secrets, missing
 * secrets.
 */

import { envOf } from './container-body.ts';
import type { SourceRow } from './source/source-lists.ts';
import type { TargetAccount } from './target-account.ts';

/** As core reads them. */
const REFERENCE = /\{\{\s*RUNPOD_SECRET_([^{}]*?)\s*\}\}/g;
const OWN_KEY = 'RUNPOD_API_KEY';
const SECRET_NAME = /SECRET|TOKEN|PASSW|API_?KEY|PRIVATE_?KEY|CREDENTIAL/i;
const SOURCE_HOST = /\bhttps?:\/\/[\w.-]*\brunpod\.(?:io|ai|net|com)\b/i;

/** Returns the names of secrets that an environment mentions. */
export function secretsIn(env: Readonly<Record<string, unknown>>): string[] {
  const names = Object.values(env).flatMap((value) => [...String(value).matchAll(REFERENCE)].map((match) => match[1]!));
  return [...new Set(names)];
}

/** Returns the secrets that a resource mentions and this account lacks. */
export function missingSecrets(row: SourceRow, { secrets }: Pick<TargetAccount, 'secrets'>): string[] {
  return secretsIn(envOf(row)).filter((name) => !secrets.has(name));
}

/** Returns notes about an environment. `origin`: address of the source. Values are never part of a note. */
export function envNotes(env: Readonly<Record<string, unknown>>, origin: string): string[] {
  const host = URL.parse(origin)?.host ?? '';
  const notes = Object.entries(env).flatMap(([name, value]) => {
    const text = String(value);
    if (name === OWN_KEY) return [`${OWN_KEY} in its environment is a key of the source: set it anew`];
    if (SOURCE_HOST.test(text) || (host !== '' && text.includes(`//${host}`)))
      return [`${name} in its environment is an address at the source`];
    const looksSecret = SECRET_NAME.test(name) && text.length >= 8 && secretsIn({ text }).length === 0;
    return looksSecret
      ? [`${name} in its environment looks like a secret in clear: see "slipway secrets set --help"`]
      : [];
  });
  return notes;
}
