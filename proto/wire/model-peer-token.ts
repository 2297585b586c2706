/**
 * Tokens with which a machine copies one model from another. Core signs them with the key of the machine that gives the
 * model, which that machine got in Welcome; it stores neither.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

/** How long a token is valid, in seconds. A copy that began in time may finish later. */
export const MODEL_PEER_TOKEN_SECONDS = 3_600;

/** A model that a token is for. */
interface PeerModel {
  /** `org/name`. */
  repository: string;
  /** 40 hexadecimal digits. */
  commit: string;
  /** As CachedModel has it. */
  accountNumber: number;
}

/** Returns a token for a model, valid until `expiresAt`, in seconds since 1970. */
export function signModelPeerToken(key: Uint8Array, model: PeerModel, expiresAt: number): string {
  return `${expiresAt}.${signature(key, model, expiresAt).toString('hex')}`;
}

/** Returns true if a token is for this model and valid at `now`, in seconds since 1970. */
export function checkModelPeerToken(key: Uint8Array, model: PeerModel, token: string, now: number): boolean {
  const [, expiry, hex] = /^(\d{1,12})\.([0-9a-f]{64})$/.exec(token) ?? [];
  if (expiry === undefined || hex === undefined || Number(expiry) <= now) return false;
  return timingSafeEqual(Buffer.from(hex, 'hex'), signature(key, model, Number(expiry)));
}

/** Signs a token. None of its parts may have a line break. */
function signature(key: Uint8Array, { repository, commit, accountNumber }: PeerModel, expiresAt: number): Buffer {
  return createHmac('sha256', key)
    .update(['model peer', accountNumber, repository, commit, expiresAt].join('\n'))
    .digest();
}
