/** How many columns of a terminal a text takes. */
import { createRequire } from 'node:module';

/** As wide as it is long. */
const PLAIN = /^[ -~]*$/;
const require = createRequire(import.meta.url);

/**
 * Columns of a text. Which characters take two, or none, changes with Unicode: a library follows it. It is loaded for
 * such a text only, because its tables take a quarter of a command's start.
 */
export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  const library = require('string-width') as typeof import('string-width');
  return library.default(text);
}
