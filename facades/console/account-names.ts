/** Names of accounts, for the operator: other answers of core have ids only. */
import type { CoreClient } from '../core-client/core-client.ts';

/** Most names that are looked up at once. */
const NAMES_AT_ONCE = 10;

/**
 * Looks up names that are not in `names` yet, ten at most, and adds them. The id stands for the name of an account that
 * is gone.
 */
export async function addAccountNames(
  { access }: Pick<CoreClient, 'access'>,
  names: Map<string, string>,
  ids: readonly string[],
  options: { apiKey: string; repeatable: boolean; signal?: AbortSignal },
): Promise<void> {
  const unnamed = [...new Set(ids)].filter((id) => id !== '' && !names.has(id)).slice(0, NAMES_AT_ONCE);
  const add = async (id: string): Promise<void> => {
    const view = { search: id, orderBy: '', descending: false, filters: {} };
    const { accounts } = await access.call((client) => client.listAccounts, { pageToken: '', view }, options);
    names.set(id, accounts.find((account) => account.id === id)?.name ?? id);
  };
  await Promise.all(unnamed.map(add));
}
