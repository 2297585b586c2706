/** Reads lists of the source: all pages, within bounds, whatever it answers. */

import { RejectedError } from '../../failures.ts';
import type { Output } from '../../output/output.ts';
import type { SourceClient } from './source-client.ts';

const PAGE_SIZE = 1_000;
const PAGES_MAX = 100;
const CURSOR_LENGTH_MAX = 8_192;
const ID_FORM = /^[A-Za-z0-9_-]{1,191}$/;
const NAME_LENGTH_MAX = 191;

/** An entry of a list. Its other members are unchecked. */
export interface SourceRow {
  id: string;
  name: string;
  /** All members, as they came. */
  fields: Readonly<Record<string, unknown>>;
}

/** A list of the source. */
export interface SourceList {
  rows: SourceRow[];
  /** Why it could not be read, for people. `undefined`: it was. */
  unread?: string;
  /** Number of entries without a usable id or name. */
  malformed: number;
}

/** Reads all pages of a list of REST v2. `key`: member with the entries. Throws as the client does. */
export async function readList(
  client: SourceClient,
  output: Output,
  { path, key, what }: { path: string; key: string; what: string },
): Promise<SourceList> {
  const list: SourceList = { rows: [], malformed: 0 };
  const seen = new Set<string>();
  let cursor = '';
  for (let page = 1; page <= PAGES_MAX; page += 1) {
    output.progress(`Reading ${what}`, list.rows.length > 0 ? String(list.rows.length) : '');
    const next = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const answer = await client.get(`${path}?limit=${PAGE_SIZE}${next}`);
    if ('absent' in answer) return { ...list, unread: absence(answer.absent) };
    const document = recordOf(answer.body);
    const entries = document?.[key];
    if (!Array.isArray(entries))
      throw new RejectedError(`GET ${path}: the answer of ${client.origin} has no list "${key}". Is it the right API?`);
    addRows(list, entries);
    cursor = nextCursor(recordOf(document?.['pagination']));
    if (cursor === '') return list;
    if (seen.has(cursor)) throw new RejectedError(`GET ${path}: ${client.origin} leads back to a page that was read.`);
    seen.add(cursor);
  }
  throw new RejectedError(`GET ${path}: ${client.origin} has more than ${PAGES_MAX} pages.`);
}

/** Reads a list that is a JSON array, as REST v1 has them. */
export async function readArray(client: SourceClient, output: Output, path: string): Promise<SourceList> {
  output.progress(`Reading ${path}`);
  const answer = await client.get(path);
  if ('absent' in answer) return { rows: [], malformed: 0, unread: absence(answer.absent) };
  if (!Array.isArray(answer.body)) throw new RejectedError(`GET ${path}: the answer of ${client.origin} is no list.`);
  const list: SourceList = { rows: [], malformed: 0 };
  addRows(list, answer.body);
  return list;
}

/** Returns a value as an object. `undefined` if it is none. */
export function recordOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

function addRows(list: SourceList, entries: readonly unknown[]): void {
  for (const entry of entries) {
    const fields = recordOf(entry);
    const { id, name } = fields ?? {};
    // Names may be as long as they like at the source; core bounds them, and its text says so.
    const fits = typeof id === 'string' && ID_FORM.test(id) && typeof name === 'string' && name.isWellFormed();
    if (fields && fits && name.length <= 4 * NAME_LENGTH_MAX) list.rows.push({ id, name, fields });
    else list.malformed += 1;
  }
}

function nextCursor(pagination: Readonly<Record<string, unknown>> | undefined): string {
  const cursor = pagination?.['nextCursor'];
  if (cursor === undefined || cursor === null || cursor === '' || pagination?.['hasNextPage'] === false) return '';
  if (typeof cursor === 'string' && cursor.length <= CURSOR_LENGTH_MAX) return cursor;
  throw new RejectedError('The source names its next page in a way that cannot be followed.');
}

function absence(status: number): string {
  return status === 403 ? 'the key may not read it (403)' : `the source does not have it (${status})`;
}

/** Returns the texts of a list. Empty if it is none. */
export function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((text): text is string => typeof text === 'string') : [];
}
