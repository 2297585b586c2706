/** What is asked of a list: what is looked for, in what order, which page. The service does all of it; a change of one begins at the first page. */
import { useState } from 'react';
import { useDebounce } from 'use-debounce';
import { useAddress } from './use-address.ts';

/** So long without a letter is a pause, in milliseconds: longer than between two letters, shorter than one notices. */
export const PAUSE_MS = 250;

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
  filter: (part: Readonly<Record<string, string>>) => void;
  /** The same column again turns it round. */
  sort: (order: string) => void;
  goOn: (next: string) => void;
  goBack: () => void;
}

/** Begins with a list's own order, or another. `filters`: names of members of the query that it can be filtered by, which stand in the address. */
export function useListing(first: { order?: string; descending?: boolean } = {}, filters: readonly string[] = []): Listing {
  const [search, setSearch] = useState('');
  const [address, setAddress] = useAddress();
  const chosen = Object.fromEntries(filters.map((name) => [name, address.get(placeOf(name)) ?? '']));
  const [{ order, descending }, setSort] = useState({ order: first.order ?? '', descending: first.descending ?? false });
  const isNarrowed = search.trim() !== '' || Object.values(chosen).some((value) => value.trim() !== '');
  const wanted = new URLSearchParams({ search: search.trim(), ...trimmed(chosen) }).toString();
  // A list is not asked for every letter on the way to a word. use-debounce: a hook of one file that ends its timers with the page.
  const [settled] = useDebounce(wanted, PAUSE_MS);
  // What is emptied counts at once.
  const asked = `${isNarrowed ? settled : 'search='}&${new URLSearchParams({ order, descending: String(descending) })}`;
  // Where each page begins; the last is the one that is shown. Of another list than the present one they say nothing.
  const [pages, setPages] = useState({ of: asked, cursors: [''] });
  const cursors = pages.of === asked ? pages.cursors : [''];
  const go = (next: readonly string[]): void => setPages({ of: asked, cursors: [...next] });
  const filter = (part: Readonly<Record<string, string>>): void => (
    setAddress(Object.fromEntries(Object.entries(part).map(([name, value]) => [placeOf(name), value])))
  );
  return {
    search, filters: chosen, isNarrowed, order, descending, query: `${asked}&${new URLSearchParams({ page: cursors.at(-1)! })}`, page: cursors.length,
    look: setSearch, filter, sort: (next) => setSort(next === order ? { order, descending: !descending } : { order: next, descending: false }),
    goOn: (next) => go([...cursors, next]), goBack: () => go(cursors.slice(0, -1)),
  };
}

/** Its name in the address, which people read. */
function placeOf(name: string): string {
  return name.replace(/^filter\./, '');
}

/** What is asked for; while one writes, a blank may stand at the end. */
function trimmed(chosen: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(chosen).map(([name, value]) => [name, value.trim()]).filter(([, value]) => value !== ''));
}
