/** Reads the version of an installed package. */
import { readFileSync } from 'node:fs';

/** Returns the version in a package.json. */
export function packageVersion(manifest: URL | string): string {
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;
}
