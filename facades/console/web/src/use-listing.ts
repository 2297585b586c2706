/** What is asked of a list: what is looked for, in what order, which page. The service does all of it; a change of one begins at the first page. */
import { useDeferredValue, useState } from 'react';

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
  // While somebody types faster than the page can show, what was typed meanwhile is not asked.
  const asked = useDeferredValue(search.trim());
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
