/** Lists API keys. */
import type { ApiKey } from '../store/api-key-store.ts';
import type { Page, PageRequest } from '../store/page.ts';
import type { Stores } from '../store/storage.ts';

/**
 * Oldest first, revoked ones included. `only`: the endpoints that a restricted key may see; it sees the keys for these and for nothing else,
 * because the others name more. Empty = all.
 */
export async function listKeys(keys: Stores['keys'], accountId: string, only: readonly string[], page: PageRequest): Promise<Page<ApiKey>> {
  return keys.list(accountId, only, page);
}
