/** What is asked of a list: what is looked for, in what order, which page. The service does all of it; a change of one begins at the first page. */
import { useState } from 'react';
import { useDebounce } from 'use-debounce';

/** So long without a letter is a pause, in milliseconds: longer than between two letters, shorter than one notices. */
const PAUSE_MS = 250;

/** How a list is shown, and what changes that. */
export interface Listing {
  search: string;
  /** What is asked besides, by the names of members of the query. */
  filters: Readonly<Record<string, string>>;
  /** Not all of the list is wanted. */
  isNarrowed: boolean;
  order: string;
  descending: boolean;
  /** Members of the query, without the first `&`. */
  query: string;
  /** From 1. */
  page: number;
  look: (search: string) => void;
  filter: (name: string, value: string) => void;
  /** The same column again turns it round. */
  sort: (order: string) => void;
  goOn: (next: string) => void;
  goBack: () => void;
}

/** Begins with a list's own order, or another. */
export function useListing(first: { order?: string; descending?: boolean } = {}): Listing {
  const [search, setSearch] = useState('');
  const [filters, setFilters] = useState<Readonly<Record<string, string>>>({});
  const [{ order, descending }, setSort] = useState({ order: first.order ?? '', descending: first.descending ?? false });
  // Where each page begins; the last is the one that is shown.
  const [cursors, setCursors] = useState(['']);
  const isNarrowed = search.trim() !== '' || Object.values(filters).some((value) => value !== '');
  const wanted = new URLSearchParams({ search: search.trim(), ...filters }).toString();
  // A list is not asked for every letter on the way to a word. use-debounce: a hook of one file that ends its timers with the page.
  const [settled] = useDebounce(wanted, PAUSE_MS);
  // What is emptied counts at once.
  const asked = isNarrowed ? settled : 'search=';
  const query = `${asked}&${new URLSearchParams({ order, descending: String(descending), page: cursors.at(-1)! })}`;
  const look = (next: string): void => { setSearch(next); setCursors(['']); };
  const filter = (name: string, value: string): void => { setFilters({ ...filters, [name]: value.trim() }); setCursors(['']); };
  const sort = (next: string): void => {
    setSort(next === order ? { order, descending: !descending } : { order: next, descending: false });
    setCursors(['']);
  };
  return {
    search, filters, isNarrowed, order, descending, query, page: cursors.length, look, filter, sort,
    goOn: (next) => setCursors([...cursors, next]), goBack: () => setCursors(cursors.slice(0, -1)),
  };
}
