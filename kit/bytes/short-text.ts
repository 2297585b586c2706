/** Beginnings of texts from outside, to be kept for a while. */

/**
 * Returns the first `lengthMax` characters as a copy. A part of a longer text would keep all of it in memory, which may
 * be many megabytes.
 */
export function shortText(text: string, lengthMax: number): string {
  return Buffer.from(text.slice(0, lengthMax), 'utf16le').toString('utf16le');
}
