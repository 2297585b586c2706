/** Logins for registries, which the source does not show: `--registry NAME=USER:FILE`. */

import { readFile } from 'node:fs/promises';
import { UsageError } from '../failures.ts';

export interface RegistryAuthInput {
  username: string;
  password: string;
}

/** Reads the passwords from their files. Throws UsageError, whose text contains none. */
export async function readLogins(options: readonly string[]): Promise<Map<string, RegistryAuthInput>> {
  const logins = new Map<string, RegistryAuthInput>();
  for (const option of options) {
    const [, name, username, file] = /^([^=]+)=([^:]+):(.+)$/s.exec(option) ?? [];
    if (name === undefined || username === undefined || file === undefined)
      throw new UsageError('--registry must be NAME=USER:FILE, and the file hold the password or token.');
    const text = await readFile(file, 'utf8').catch(({ code }: NodeJS.ErrnoException) => {
      throw new UsageError(`${file} cannot be read (${code}).`);
    });
    const password = text.replace(/\r?\n$/, '');
    if (password === '') throw new UsageError(`${file} is empty.`);
    logins.set(name, { username, password });
  }
  return logins;
}
