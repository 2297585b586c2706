/** Finds what --prune deletes: endpoints and templates with the mark of the owner that are in no file. */
import { UsageError } from '../failures.ts';
import type { Account } from './account.ts';
import { ownTemplateIn } from './account.ts';
import type { Desired } from './read-files.ts';
import type { Step } from './steps.ts';
import { OWNER_MARK } from './values.ts';

/** Returns the steps. Data and secrets are never deleted. Throws UsageError if that would be everything. */
export function prunable({ owner, entries }: Desired, { endpoints, templates }: Account): Step[] {
  if (owner === undefined)
    throw new UsageError('--prune needs an owner in the file: it deletes only what has its mark.');
  if (entries.endpoints.size + entries.templates.size === 0)
    throw new UsageError('--prune with a file that has no endpoints and no templates would delete all of them.');
  const gone = [
    ...endpoints
      .filter((endpoint) => (ownTemplateIn(endpoint) ?? endpoint).env[OWNER_MARK] === owner)
      .map(({ id, name }) => ({ section: 'endpoints' as const, id, name })),
    ...templates
      .filter(({ env }) => env[OWNER_MARK] === owner)
      .map(({ id, name }) => ({ section: 'templates' as const, id, name })),
  ].filter(({ section, name }) => !entries[section].has(name));
  return gone.map((resource) => ({ ...resource, action: 'delete', changes: [], values: {} }));
}
