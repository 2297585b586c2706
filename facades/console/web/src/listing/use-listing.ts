/**
 * What is asked of a list: what is looked for, in what order, which page. The service does all of it; a change of one
 * begins at the first page.
 */
import { useState } from 'react';
import { useAddress } from '../lib/use-address.ts';
import { useDebounced } from '../lib/use-debounced.ts';
import { usePages } from './use-pages.ts';

/** What is asked where all of a list is wanted. */
const ALL = 'search=';

/** How a list is shown, and what changes that. */
export interface Listing {
  search: string;
  /** What is asked besides, by the names of members of the query. */
  filters: Readonly<Record<string, string>>;
  /** Not all of the list is asked for. */
  isNarrowed: boolean;
  order: string;
  descending: boolean;
  /** Members of the query, without the first `&`. */
  query: string;
  /** From 1. */
  page: number;
  searchFor: (search: string) => void;
  /** `isTyped`: one may go on writing; what is chosen counts at once. */
  filter: (part: Readonly<Record<string, string>>, isTyped?: boolean) => void;
  /** The same column again turns it round. */
  sort: (order: string) => void;
  goOn: (next: string) => void;
  goBack: () => void;
}

/**
 * Begins with a list's own order, or another. `filters`: names of members of the query that it can be filtered by,
 * which stand in the address.
 */
export function useListing(
  first: { order?: string; descending?: boolean } = {},
  filters: readonly string[] = [],
): Listing {
  const [search, setSearch] = useState('');
  const [address, setAddress] = useAddress();
  const chosen = Object.fromEntries(filters.map((name) => [name, address.get(parameterOf(name)) ?? '']));
  const [{ order, descending }, setSort] = useState({
    order: first.order ?? '',
    descending: first.descending ?? false,
  });
  const wanted = new URLSearchParams({ search: search.trim(), ...trimmed(chosen) }).toString();
  const [isTyped, setIsTyped] = useState(false);
  const debounced = useDebounced(wanted, isTyped && wanted !== ALL);
  const asked = `${debounced}&${new URLSearchParams({ order, descending: String(descending) })}`;
  const { cursors, go } = usePages(asked);
  const searchFor = (text: string): void => {
    setIsTyped(true);
    setSearch(text);
  };
  const filter = (part: Readonly<Record<string, string>>, isOnTheWay = false): void => {
    setIsTyped(isOnTheWay);
    setAddress(Object.fromEntries(Object.entries(part).map(([name, value]) => [parameterOf(name), value])));
  };
  const sort = (next: string): void => {
    setIsTyped(false);
    setSort(next === order ? { order, descending: !descending } : { order: next, descending: false });
  };
  return {
    search,
    filters: chosen,
    isNarrowed: debounced !== ALL,
    order,
    descending,
    query: `${asked}&${new URLSearchParams({ page: cursors.at(-1)! })}`,
    page: cursors.length,
    searchFor,
    filter,
    sort,
    goOn: (next) => go([...cursors, next]),
    goBack: () => go(cursors.slice(0, -1)),
  };
}

/** Its name in the address, which people read. */
function parameterOf(name: string): string {
  return name.replace(/^filter\./, '');
}

/** What is asked for; while one writes, a blank may stand at the end. */
function trimmed(chosen: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(chosen)
      .map(([name, value]) => [name, value.trim()])
      .filter(([, value]) => value !== ''),
  );
}
