/** Lists the audit events of an account, newest first, page by page. */

import type { Caller } from '../domain/accounts/permission.ts';
import { isUnlimited, unauthorized } from '../domain/accounts/permission.ts';
import { checkText, checkTime, invalid } from '../domain/settings/fields.ts';
import type { AuditEvent } from '../store/accounts/audit-store.ts';
import type { Stores } from '../store/storage.ts';

const PAGE_SIZE_DEFAULT = 100;
const PAGE_SIZE_MAX = 1_000;

/** Filter, order and page of a list. */
interface AuditRequest {
  /** Most events of the page. 0: the default of 100. */
  pageSize: number;
  /** Token that the previous page returned. Empty: the first page. */
  pageToken: string;
  /** Only changes of this resource. Empty: all. */
  subjectId: string;
  /** Only changes with this text in their action, subject, key, address or fields. Empty: all. */
  search: string;
  /** Only this action. `undefined`: all. */
  action: string | undefined;
  /** Only calls from this address. `undefined`: all. */
  address: string | undefined;
  /** True: only refused attempts; false: only changes. `undefined`: both. */
  refused: boolean | undefined;
  /** Only changes at or after this time. `undefined`: all. */
  since: Date | undefined;
  /** Only changes before this time. `undefined`: all. */
  until: Date | undefined;
  /** True: oldest first, also from page to page. */
  oldestFirst: boolean;
}

/** A page of audit events. */
interface AuditPage {
  events: AuditEvent[];
  /** Token of the next page. Empty: there is none. */
  nextPageToken: string;
}

/**
 * Returns a page of audit events. Empty `accountId`: of all accounts. Throws UNAUTHORIZED if the key may not do
 * everything in the account. INVALID_REQUEST: an invalid page size or token, or a time range that ends before it
 * begins.
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
  checkTime('since_time', asked.since?.getTime());
  checkTime('until_time', asked.until?.getTime());
  if (asked.since && asked.until && asked.until <= asked.since) throw invalid('until_time must be after since_time');
  const size = pageSize || PAGE_SIZE_DEFAULT;
  // One more event than the page holds shows whether there is a next page.
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
