/** What is asked of a list: what is looked for, in what order, which page. The service does all of it; a change of one begins at the first page. */
import { useState } from 'react';
import { useDebounce } from 'use-debounce';

/** So long without a letter is a pause, in milliseconds: longer than between two letters, shorter than one notices. */
const PAUSE_MS = 250;

/** How a list is shown, and what changes that. */
export interface Listing {
  search: string;
  order: string;
  descending: boolean;
  /** Members of the query, without the first `&`. */
  query: string;
  /** From 1. */
  page: number;
  look: (search: string) => void;
  /** The same column again turns it round. */
  sort: (order: string) => void;
  goOn: (next: string) => void;
  goBack: () => void;
}

/** Begins with a list's own order, or another. */
export function useListing(first: { order?: string; descending?: boolean } = {}): Listing {
  const [search, setSearch] = useState('');
  const [{ order, descending }, setSort] = useState({ order: first.order ?? '', descending: first.descending ?? false });
  // Where each page begins; the last is the one that is shown.
  const [cursors, setCursors] = useState(['']);
  const wanted = search.trim();
  // A list is not asked for every letter on the way to a word. use-debounce: a hook of one file that ends its timers with the page.
  const [settled] = useDebounce(wanted, PAUSE_MS);
  // What is emptied counts at once.
  const asked = wanted === '' ? '' : settled;
  const query = new URLSearchParams({ search: asked, order, descending: String(descending), page: cursors.at(-1)! }).toString();
  const look = (next: string): void => { setSearch(next); setCursors(['']); };
  const sort = (next: string): void => {
    setSort(next === order ? { order, descending: !descending } : { order: next, descending: false });
    setCursors(['']);
  };
  return {
    search, order, descending, query, page: cursors.length, look, sort,
    goOn: (next) => setCursors([...cursors, next]), goBack: () => setCursors(cursors.slice(0, -1)),
  };
}
