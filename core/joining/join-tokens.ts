/** Makes, lists and revokes tokens by which machines join. For the operator. */
import type { Random } from '@slipway/kit/time/clock';
import { joinTokenText, TOKEN_SECRET_LENGTH } from '@slipway/kit/tls/join-token';
import { base62, hashKey } from '../access/key-text.ts';
import type { Caller } from '../domain/accounts/permission.ts';
import { unauthorized } from '../domain/accounts/permission.ts';
import type { JoinToken, JoinTokenSettings } from '../domain/machines/join-token.ts';
import { checkJoinToken, OPEN_TOKENS_MAX } from '../domain/machines/join-token.ts';
import { DomainError } from '../domain/settings/errors.ts';
import type { Stores } from '../store/storage.ts';
import type { CoreCertificates } from './core-certificates.ts';
import { hostOf, isWildcard, machineAddresses, portOf } from './server-names.ts';

const ID_LENGTH = 12;

/** Dependencies of the use cases of tokens. */
export interface JoinTokenContext extends Pick<Stores, 'joinTokens'> {
  certificates: Pick<CoreCertificates, 'authority' | 'digest'>;
  random: Random;
  /** Returns host:port of each address at which this replica speaks TLS. */
  secureAddresses(): string[];
  /** Where the operator says that this replica is reached, host:port. Empty: where it listens. */
  advertise: string;
}

/** A new token. */
interface MadeToken {
  token: JoinToken;
  text: string;
  addresses: string[];
}

/**
 * Makes a token. Returns it with its text, which is stored nowhere, and the addresses to join at. Throws UNAUTHORIZED
 * if the caller is not the operator. INVALID_REQUEST: a field is out of range. IN_USE: this replica speaks no TLS, or
 * too many tokens are open.
 */
export async function createJoinToken(
  context: JoinTokenContext,
  caller: Caller,
  settings: JoinTokenSettings,
): Promise<MadeToken> {
  requireOperator(caller);
  checkJoinToken(settings);
  const { certificates, random, joinTokens } = context;
  if (!certificates.authority) {
    throw new DomainError(
      'IN_USE',
      'Machines join by TLS, and this core speaks none. Start it with another address: npm start -- --join-address ' +
        'ADDRESS, or slipway core --listen 127.0.0.1:50051,ADDRESS:50051',
    );
  }
  const id = random.id(ID_LENGTH);
  const secret = base62(random, TOKEN_SECRET_LENGTH);
  const token = await joinTokens.create(id, hashToken(id, secret), settings, caller.keyId);
  if (!token) {
    throw new DomainError(
      'IN_USE',
      `${OPEN_TOKENS_MAX} tokens are open, and no more may be. Revoke some: slipway machines tokens`,
    );
  }
  return { token, text: joinTokenText({ id, secret, authority: certificates.digest }), addresses: reachedAt(context) };
}

/** Returns the tokens, the newest first. Throws UNAUTHORIZED if the caller is not the operator. */
export async function listJoinTokens({ joinTokens }: Pick<JoinTokenContext, 'joinTokens'>, caller: Caller) {
  requireOperator(caller);
  return joinTokens.list();
}

/** Revokes a token. Throws UNAUTHORIZED if the caller is not the operator. NOT_FOUND: there is no such token. */
export async function revokeJoinToken(
  { joinTokens }: Pick<JoinTokenContext, 'joinTokens'>,
  caller: Caller,
  id: string,
): Promise<void> {
  requireOperator(caller);
  if (!(await joinTokens.revoke(id, caller.keyId))) throw new DomainError('NOT_FOUND', 'There is no such token.');
}

/** Returns the hash under which a token is stored. */
export function hashToken(id: string, secret: string): Buffer {
  return Buffer.from(hashKey(`${id}_${secret}`), 'hex');
}

/** Throws UNAUTHORIZED if the caller is not the operator. */
export function requireOperator({ scope }: Caller): void {
  if (scope !== 'ROOT') throw unauthorized();
}

function reachedAt({ secureAddresses, advertise }: JoinTokenContext): string[] {
  const found = secureAddresses().flatMap((address) => {
    const host = hostOf(address);
    if (!isWildcard(host)) return [address];
    return machineAddresses().map((own) => `${own.includes(':') ? `[${own}]` : own}:${portOf(address)}`);
  });
  return [...new Set([...(advertise === '' ? [] : [advertise]), ...found])];
}
