/** The container of endpoints and templates of the source, as a body of REST v2 for this account. */

import { containerBody } from '@slipway/facades/rest-v2/container/container-part';
import { hiddenVariable } from '../shared/hidden-value.ts';
import type { ImportContext } from './import-context.ts';
import { referenceTo, WaitingError } from './import-context.ts';
import type { SourceRow } from './source/source-lists.ts';
import { recordOf } from './source/source-lists.ts';

/**
 * Returns the members of a body that the source has, with the ids of this account. Throws WaitingError if the source's
 * key may not read values of its environment, or if this account lacks a resource that it refers to.
 */
export function containerOf({ fields }: SourceRow, context: ImportContext): Record<string, unknown> {
  const body = pick(fields, Object.keys(containerBody));
  // Both say the same; words are exact, while one text is split again.
  if (Array.isArray(body['cmd']) && Array.isArray(body['entrypoint'])) delete body['args'];
  // In a fixed order, so that a repeated run sends the same bytes.
  const env = recordOf(body['env']);
  const hidden = hiddenVariable(env ?? {});
  if (hidden !== undefined)
    throw new WaitingError(
      `the source shows the value of its variable ${hidden} only to keys that may change it: ` +
        'use such a key (--key-file)',
    );
  if (env) body['env'] = Object.fromEntries(Object.entries(env).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  const { registry } = body;
  if (typeof registry === 'string' && registry !== '') body['registry'] = referenceTo(context, 'registries', registry);
  else delete body['registry'];
  return body;
}

/** Returns the environment of a resource of the source. */
export function envOf({ fields }: SourceRow): Readonly<Record<string, unknown>> {
  return recordOf(fields['env']) ?? {};
}

/** Returns the named members that are there. Null is left out: it stands for none in answers. */
export function pick(fields: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    names.flatMap((name) => (fields[name] === undefined || fields[name] === null ? [] : [[name, fields[name]]])),
  );
}

/** Returns notes about members that are not known here, and so do not come along. */
export function unknownMembers({ fields }: SourceRow, known: readonly string[]): string[] {
  const rest = Object.keys(fields).filter((name) => !known.includes(name));
  return rest.length === 0 ? [] : [`not known here, and left out: ${rest.slice(0, 10).join(', ')}`];
}
