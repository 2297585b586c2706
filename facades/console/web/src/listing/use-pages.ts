/** Which page of a list is shown. */
import { useState } from 'react';

const FIRST: readonly string[] = [''];

/**
 * Returns the cursors of the pages of the list `of`; the last one is the current page. Another list starts at its first
 * page, even if it was shown before.
 */
export function usePages(of: string): { cursors: readonly string[]; go: (cursors: readonly string[]) => void } {
  const [pages, setPages] = useState({ of, cursors: FIRST });
  // Not in an effect, because a page of the previous list would be requested first.
  if (pages.of !== of) setPages({ of, cursors: FIRST });
  return { cursors: pages.of === of ? pages.cursors : FIRST, go: (cursors) => setPages({ of, cursors }) };
}
