/** Generates key texts and hashes them. Only hashes are stored. */
import { hash } from 'node:crypto';
import type { Random } from '@slipway/kit/time/clock';
import type { Scope } from '../domain/accounts/permission.ts';

/** 40 of 62 characters have 238 random bits. */
const KEY_CHARACTERS = 40;
const BASE62 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
/** Longest key text in characters. A longer one is rejected unread. */
export const KEY_LENGTH_MAX = 256;

/** Returns a new key: `rpa_` for callers, `rpm_` for machines, then 40 letters and digits. */
export function newKeyText(random: Random, scope: Exclude<Scope, 'ROOT'>): string {
  return `${scope === 'AGENT' ? 'rpm' : 'rpa'}_${base62(random, KEY_CHARACTERS)}`;
}

/** Returns `length` uniformly distributed letters and digits from a cryptographic source. */
export function base62(random: Random, length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of random.bytes(length)) {
      // 248 = 4 × 62: higher bytes would make the first letters more likely.
      if (byte < 248 && text.length < length) text += BASE62[byte % 62];
    }
  }
  return text;
}

/**
 * Returns the SHA-256 of a key in hexadecimal digits, hashed as text because that takes a third of the time. Keys
 * have enough entropy that no slow hash is needed.
 */
export function hashKey(key: string): string {
  return hash('sha256', key);
}
