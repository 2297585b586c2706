/** Lists the resources that an import cannot carry over, each with what to do about it. */

import { envOf } from './container-body.ts';
import { secretsIn } from './env-notes.ts';
import type { SourceAccount } from './source/read-source.ts';
import type { SourceRow } from './source/source-lists.ts';
import type { TargetAccount } from './target-account.ts';

/** A secret whose value has to be set here. */
export interface OpenSecret {
  name: string;
  /** Endpoints and templates that mention it. */
  usedBy: string[];
  command: string;
}

/** Something that stays at the source. */
export interface IgnoredResource {
  what: string;
  reason: string;
}

/** Returns the secrets of the source and of its environments. Their names are their ids. */
export function secretRows(source: SourceAccount): SourceRow[] {
  return [...usersOfSecrets(source).keys()].map((name) => ({ id: name, name, fields: {} }));
}

/** Returns the secrets that are missing here, and will be. */
export function openSecrets(source: SourceAccount, target: TargetAccount): OpenSecret[] {
  return [...usersOfSecrets(source)]
    .filter(([name]) => !target.secrets.has(name))
    .map(([name, usedBy]) => ({
      name,
      usedBy: [...new Set(usedBy)],
      command: `slipway secrets set ${quoted(name)} < FILE`,
    }));
}

/** Returns what stays at the source for good. */
export function ignored({ volumes, templates }: SourceAccount): IgnoredResource[] {
  return [
    ...volumes.map(({ name }) => ({
      what: `files of the network volume ${name}`,
      reason: 'mount it in a pod at the source and here, and copy with rsync; or through its S3 address',
    })),
    ...templates
      .filter(({ fields }) => typeof fields['readme'] === 'string' && fields['readme'] !== '')
      .map(({ name }) => ({ what: `readme of the template ${name}`, reason: 'templates here have none' })),
    { what: 'jobs and their results', reason: 'they end at the source; send new ones here' },
    { what: 'API keys, team members, balance', reason: 'create keys here with "slipway keys create"' },
  ];
}

function usersOfSecrets(source: SourceAccount): Map<string, string[]> {
  const users = new Map<string, string[]>(source.secrets.map(({ name }) => [name, []]));
  for (const row of [...source.endpoints, ...source.templates, ...source.pods])
    for (const name of secretsIn(envOf(row))) users.set(name, [...(users.get(name) ?? []), row.name]);
  return users;
}

function quoted(name: string): string {
  return /^[\w.-]+$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`;
}
