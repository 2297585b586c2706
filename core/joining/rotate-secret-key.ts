/** Exchanges the secret key, with an overlap in which two open what is sealed. For the operator. */
import type { Sealer } from '@slipway/kit/host/seal';
import type { SecretKeyState } from '@slipway/proto/gen/slipway/v1/join_service';
import type { Caller } from '../domain/accounts/permission.ts';
import { DomainError } from '../domain/settings/errors.ts';
import type { Stores } from '../store/storage.ts';
import { requireOperator } from './join-tokens.ts';

/** Dependencies of the exchange. */
export interface SecretKeyContext extends Pick<Stores, 'secretKeys'> {
  sealer: Pick<Sealer, 'fingerprints'>;
}

/** Returns the secret keys by their fingerprints, and the rows that need the previous one. Throws UNAUTHORIZED. */
export async function readSecretKeys(
  { secretKeys, sealer }: SecretKeyContext,
  caller: Caller,
): Promise<SecretKeyState> {
  requireOperator(caller);
  const { current, previous } = await secretKeys.read();
  const others = sealer.fingerprints().filter((own) => !own.equals(current));
  const next = previous ? undefined : others[0];
  return {
    current: current.toString('hex'),
    previous: previous?.toString('hex') ?? '',
    next: next?.toString('hex') ?? '',
    left: previous ? await secretKeys.left() : [],
  };
}

/**
 * Lets core seal with the other key that it was given, and seal all rows anew in the background. Throws UNAUTHORIZED:
 * not the operator. IN_USE: there is no other key, an exchange is going on, or a replica does not have both.
 */
export async function rotateSecretKey(context: SecretKeyContext, caller: Caller): Promise<SecretKeyState> {
  const { previous, next } = await readSecretKeys(context, caller);
  if (previous !== '')
    throw new DomainError(
      'IN_USE',
      'Rows still need the previous secret key. Wait until slipway secret-key shows none.',
    );
  if (next === '') {
    throw new DomainError(
      'IN_USE',
      'Core has one secret key. Give all replicas another one (slipway core --next-secret-key-file) and start ' +
        'them anew.',
    );
  }
  if (await context.secretKeys.hasOneKeyReplica()) {
    throw new DomainError(
      'IN_USE',
      'A replica of core has one secret key only, and could not open what is sealed with the other. Start all ' +
        'of them with --next-secret-key-file.',
    );
  }
  await context.secretKeys.rotate(Buffer.from(next, 'hex'), caller.keyId);
  return await readSecretKeys(context, caller);
}
