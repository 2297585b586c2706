/** Tokens by which machines join: bounds, state, and reasons to refuse one. */
import { DomainError } from '../settings/errors.ts';
import { checkTexts, invalid } from '../settings/fields.ts';

export const TTL_SECONDS = { min: 60, max: 604_800, fallback: 3_600 } as const;
export const USES = { min: 1, max: 1_000, fallback: 1 } as const;
/** Most tokens that may be open at a time. */
export const OPEN_TOKENS_MAX = 100;
const POOL_LENGTH_MAX = 64;
const LOCATIONS_MAX = 20;
const LOCATION_LENGTH_MAX = 64;
/** Days for which a token is listed after it has ended. */
export const ENDED_DAYS = 7;

/** A token as it is stored, without its text. */
export interface JoinToken {
  id: string;
  pool: string;
  locations: string[];
  usesMax: number;
  uses: number;
  createdAt: Date;
  expiresAt: Date;
  revokedAt: Date | null;
  /** It still lets machines in, by the database's clock. */
  open: boolean;
}

/** Fields of a new token. */
export interface JoinTokenSettings {
  pool: string;
  locations: string[];
  usesMax: number;
  ttlSeconds: number;
}

/** Throws INVALID_REQUEST if a field is out of range. */
export function checkJoinToken({ pool, locations, usesMax, ttlSeconds }: JoinTokenSettings): void {
  if (pool.length > POOL_LENGTH_MAX || pool.includes('\0'))
    throw invalid(`pool must be at most ${POOL_LENGTH_MAX} characters without NUL`);
  checkLocations(locations);
  for (const [name, value, { min, max }] of [
    ['uses_max', usesMax, USES],
    ['ttl_seconds', ttlSeconds, TTL_SECONDS],
  ] as const) {
    if (!Number.isInteger(value) || value < min || value > max)
      throw invalid(`${name} is ${value}, but must be a whole number from ${min} to ${max}`);
  }
}

/** Throws INVALID_REQUEST unless these are locations of machines. */
export function checkLocations(locations: readonly string[]): void {
  checkTexts('locations', locations);
  if (locations.length > LOCATIONS_MAX) throw invalid(`locations has more than ${LOCATIONS_MAX} entries`);
  const wrong = locations.find((location) => !/^[\x21-\x2b\x2d-\x7e]+$/.test(location));
  if (wrong !== undefined || locations.some(({ length }) => length > LOCATION_LENGTH_MAX))
    throw invalid(`locations must be words of at most ${LOCATION_LENGTH_MAX} characters without commas`);
}

/** Reason for which a machine may not join. */
export type JoinRejection =
  | 'unknown'
  | 'revoked'
  | 'expired'
  | 'used'
  | 'keyRevoked'
  | 'otherMachine'
  | 'machineHasKey';

const ANOTHER = 'Make another one where core runs: slipway machines token';
const REJECTIONS: Record<JoinRejection, ['UNAUTHORIZED' | 'IN_USE', (machineId: string) => string]> = {
  unknown: ['UNAUTHORIZED', () => `There is no such token. ${ANOTHER}`],
  revoked: ['UNAUTHORIZED', () => `This token was revoked. ${ANOTHER}`],
  expired: ['UNAUTHORIZED', () => `This token has expired. ${ANOTHER}`],
  used: ['UNAUTHORIZED', () => `This token has let in as many machines as it may. ${ANOTHER}`],
  keyRevoked: ['IN_USE', () => 'This key pair was revoked: join with a new one.'],
  otherMachine: ['IN_USE', () => 'This key pair is that of another machine: join with a new one.'],
  machineHasKey: [
    'IN_USE',
    (machineId) =>
      `Machine ${machineId} has joined already, and its key works. If this is that machine, remove it first: slipway ` +
      `machines remove ${machineId}. If it is not, it has a copy of the other's data folder: give it an empty one.`,
  ],
};

/** Returns the error of a rejected machine. */
export function joinRejected(rejection: JoinRejection, machineId: string): DomainError {
  const [reason, text] = REJECTIONS[rejection];
  return new DomainError(reason, text(machineId));
}
