/** Binds an agent key to the first machine that uses it. */

import type { Caller } from '../domain/accounts/permission.ts';
import { DomainError } from '../domain/settings/errors.ts';
import type { Stores } from '../store/storage.ts';

const MAKE_ANOTHER = 'Make one for it where core runs: npx slipway keys create NAME --scope agent';

/**
 * Binds an unused key to the machine. UNAUTHORIZED: another machine owns the key, or this machine has another key
 * that was not revoked. `onBound` notifies all replicas.
 */
export async function bindKey(
  keys: Pick<Stores['keys'], 'bind'>,
  { keyId, machineId }: Caller,
  wanted: string,
  onBound: (keyId: string) => void,
): Promise<void> {
  if (machineId === wanted) return;
  const owner = machineId ?? (await keys.bind(keyId, wanted));
  if (owner === wanted) return onBound(keyId);
  if (owner !== undefined) {
    const text =
      `This key belongs to machine ${owner}, but this is machine ${wanted}. ` + 'Each machine needs its own key.';
    throw new DomainError('UNAUTHORIZED', `${text} ${MAKE_ANOTHER}`);
  }
  throw new DomainError(
    'UNAUTHORIZED',
    `Machine ${wanted} has joined with another key, which still works. If this is that machine, revoke the ` +
      'other key (npx slipway keys list --scope agent; npx slipway keys revoke ID --scope agent) and start again, or ' +
      'make a key that replaces it (npx slipway keys create NAME --scope agent --replaces ID). ' +
      "If it is not, it has a copy of the other's data folder: give it an empty folder and its own key. " +
      `${MAKE_ANOTHER}`,
  );
}
