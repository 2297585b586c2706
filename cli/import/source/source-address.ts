/** The address and key of the account that is read, as the user gives them. */

import { readFile } from 'node:fs/promises';
import { UsageError } from '../../failures.ts';

const KEY_LENGTH_MAX = 1_024;

/**
 * Returns the origin of an address: clients are given it with `/v2`, `/v1` or `/graphql`, and without. Throws
 * UsageError if it is no address of an HTTP service.
 */
export function originOfSource(address: string): string {
  const url = URL.parse(address.includes('://') ? address : `https://${address}`);
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '' || url.search !== '')
    throw new UsageError(
      `--from is ${JSON.stringify(address)}, but must be the address of the API, for instance https://api.example.com.`,
    );
  const path = url.pathname.replace(/\/+$/, '').replace(/\/(v1|v2|graphql)$/, '');
  return url.origin + path;
}

/** Returns whether a key would travel unencrypted to another machine. */
export function isPlain(origin: string): boolean {
  const { protocol, hostname } = new URL(origin);
  return protocol === 'http:' && !/^(localhost|127\..*|\[::1\])$/.test(hostname);
}

/** Reads a key from a file. Throws UsageError, whose text does not contain the key. */
export async function readSourceKey(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${file} cannot be read (${error.code}).`);
  });
  const key = text.trim();
  if (/^[\x21-\x7e]+$/.test(key) && key.length <= KEY_LENGTH_MAX) return key;
  throw new UsageError(`${file} must contain one API key and nothing else.`);
}
