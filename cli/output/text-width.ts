/** Computes the number of terminal columns that a text takes. */
import { createRequire } from 'node:module';

/** Matches a text whose width equals its length. */
const PLAIN = /^[ -~]*$/;
const require = createRequire(import.meta.url);

/**
 * Returns the columns of a text. Which characters take two columns or none changes with Unicode, so a library decides.
 * It is loaded only for other characters, because its tables take a quarter of a command's start.
 */
export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  const library = require('string-width') as typeof import('string-width');
  return library.default(text);
}
