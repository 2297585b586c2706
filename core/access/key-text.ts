/** The text of keys: how they are made and how they are looked up. Only hashes are ever stored. */
import { hash } from 'node:crypto';
import type { Random } from '@slipway/kit/time/clock';
import type { Scope } from '../domain/accounts/permission.ts';

/** 40 characters of 62 carry 238 bits of chance. */
const KEY_CHARACTERS = 40;
const BASE62 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
/** Longest text that can be a key; more is refused unread. */
export const KEY_LENGTH_MAX = 256;

/** A new key: `rpa_` for callers, `rpm_` for machines, then 40 letters and digits. */
export function newKeyText(random: Random, scope: Exclude<Scope, 'ROOT'>): string {
  return `${scope === 'AGENT' ? 'rpm' : 'rpa'}_${base62(random, KEY_CHARACTERS)}`;
}

/** `length` letters and digits that nobody can guess, each equally likely. */
export function base62(random: Random, length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of random.bytes(length)) {
      // 248 = 4 × 62: bytes above would make the first letters likelier.
      if (byte < 248 && text.length < length) text += BASE62[byte % 62];
    }
  }
  return text;
}

/**
 * SHA-256 of a key in hexadecimal digits: made as a text it costs a third of what its bytes would. Keys carry enough
 * chance that no slow hash is needed.
 */
export function hashKey(key: string): string {
  return hash('sha256', key);
}
