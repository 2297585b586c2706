/** Reads the password of the database again from its file for each new connection: it may change while core runs. */
import { readFileSync } from 'node:fs';

/** Returns the password for a new connection. */
export type PasswordReader = () => string;

/** Returns the password in a URL. `undefined`: it has none. */
function passwordIn(url: string): string | undefined {
  const [, password] = /^[a-z]+:\/\/[^:@/]*:([^@/]*)@/.exec(url) ?? [];
  try {
    return password === undefined ? undefined : decodeURIComponent(password);
  } catch {
    return undefined;
  }
}

/**
 * Returns a reader of the password in a file with a URL. `url`: what the file held at start. `undefined`: there is no
 * file, or no password in the URL.
 */
export function passwordReader(file: string, url: string): PasswordReader | undefined {
  let last = file === '' ? undefined : passwordIn(url);
  if (last === undefined) return undefined;
  return () => {
    try {
      last = passwordIn(readFileSync(file, 'utf8')) ?? last!;
    } catch {
      // It is being replaced.
    }
    return last!;
  };
}
