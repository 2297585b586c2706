/** Which page of a list is shown. */
import { useState } from 'react';

const FIRST: readonly string[] = [''];

/**
 * Where each page of the list `of` begins; the last is the one that is shown. Another list begins at its first page,
 * also one that was shown before.
 */
export function usePages(of: string): { cursors: readonly string[]; go: (cursors: readonly string[]) => void } {
  const [pages, setPages] = useState({ of, cursors: FIRST });
  // Not in an effect: a page of the list before would be asked for first.
  if (pages.of !== of) setPages({ of, cursors: FIRST });
  return { cursors: pages.of === of ? pages.cursors : FIRST, go: (cursors) => setPages({ of, cursors }) };
}
