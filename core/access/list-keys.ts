/** Lists API keys. */
import type { ApiKey, ApiKeyStore } from '../store/api-key-store.ts';

/**
 * Oldest first, revoked ones included. `only`: the endpoints that a restricted key may see; it sees the keys for these and for nothing else,
 * because the others name more. Empty = all.
 */
export async function listKeys(keys: ApiKeyStore, accountId: string, only: readonly string[]): Promise<ApiKey[]> {
  const all = await keys.list(accountId);
  if (only.length === 0) return all;
  return all.filter(({ endpointIds }) => endpointIds.length > 0 && endpointIds.every((id) => only.includes(id)));
}
