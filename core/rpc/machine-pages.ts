/** Pages of the machines, which are listed by name: a token names the last machine of its page. */
import type { MachineKey, MachinePageRequest } from '../store/machine-store.ts';
import { badToken, pageSizeOf } from './paging.ts';
import type { PagedMessage } from './paging.ts';

const TOKEN_LENGTH_MAX = 4_096;

/** Which page is meant. INVALID_REQUEST: a bad size, or a token that no page gave. */
export function machinePageOf(message: PagedMessage): MachinePageRequest {
  const { pageToken = '' } = message;
  return { size: pageSizeOf(message), after: pageToken === '' ? undefined : keyFromToken(pageToken) };
}

/** Names the page after a machine; empty: there is none. */
export function machineTokenOf(next: MachineKey | undefined): string {
  return next ? Buffer.from(`${next.id} ${next.name}`).toString('base64url') : '';
}

function keyFromToken(token: string): MachineKey {
  const text = token.length <= TOKEN_LENGTH_MAX && /^[\w-]+$/.test(token) ? Buffer.from(token, 'base64url').toString() : '';
  const [, id, name] = /^([a-z0-9]{12}) ([^\0]*)$/.exec(text) ?? [];
  if (id === undefined || name === undefined) throw badToken();
  return { id, name };
}
