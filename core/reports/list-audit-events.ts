/** Lists who changed what in an account, newest first, page by page. */

import type { Caller } from '../domain/accounts/permission.ts';
import { isUnlimited, unauthorized } from '../domain/accounts/permission.ts';
import { checkText, invalid } from '../domain/settings/fields.ts';
import type { AuditEvent } from '../store/accounts/audit-store.ts';
import type { Stores } from '../store/storage.ts';

const PAGE_SIZE_DEFAULT = 100;
const PAGE_SIZE_MAX = 1_000;

/** Which page. */
export interface AuditRequest {
  /** Most events; 0: the default of 100. */
  pageSize: number;
  /** Of the page before; empty: the newest. */
  pageToken: string;
  /** Only changes of this thing; empty: all. */
  subjectId: string;
  /** Only changes with this text in their action, subject, key or fields; empty: all. */
  search: string;
  /** `undefined` if all. */
  action: string | undefined;
  /** Only changes since then; `undefined` if all. */
  since: Date | undefined;
  /** Only changes before then; `undefined` if all. */
  until: Date | undefined;
  /** The oldest first; then so are its pages. */
  oldestFirst: boolean;
}

/** A page. */
export interface AuditPage {
  events: AuditEvent[];
  /** Names the next page; empty: there is none. */
  nextPageToken: string;
}

/**
 * Of all accounts when `accountId` is empty. UNAUTHORIZED: the key may not do everything. INVALID_REQUEST: a bad size,
 * a token of no page, or times that end before they begin.
 */
export async function listAuditEvents(
  audit: Stores['audit'],
  caller: Caller,
  accountId: string,
  { pageSize, pageToken, subjectId, ...asked }: AuditRequest,
): Promise<AuditPage> {
  if (!isUnlimited(caller)) throw unauthorized();
  if (pageSize < 0 || pageSize > PAGE_SIZE_MAX)
    throw invalid(`page_size is ${pageSize}, but must be from 1 to ${PAGE_SIZE_MAX}`);
  checkText('subject_id', subjectId);
  if (asked.since && asked.until && asked.until <= asked.since) throw invalid('until_time must be after since_time');
  const size = pageSize || PAGE_SIZE_DEFAULT;
  // One more than the page holds says whether there is another.
  const found = await audit.list(accountId, {
    ...asked,
    limit: size + 1,
    ...(pageToken === '' ? {} : { beyondId: idOf(pageToken) }),
    ...(subjectId === '' ? {} : { subjectId }),
  });
  const events = found.slice(0, size);
  return { events, nextPageToken: found.length > size ? tokenOf(events.at(-1)!.id) : '' };
}

function tokenOf(id: number): string {
  return Buffer.from(String(id)).toString('base64url');
}

function idOf(token: string): number {
  const text = /^[A-Za-z0-9_-]{1,32}$/.test(token) ? Buffer.from(token, 'base64url').toString() : '';
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(id))
    throw invalid('page_token is none that a page of this list gave; leave it out to start with the newest');
  return id;
}
