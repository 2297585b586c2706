/**
 * State of a list's query: search, filters, order and page. The service applies all of it. A change starts again at the
 * first page.
 */
import { useState } from 'react';
import { useAddress } from '../lib/use-address.ts';
import { useDebounced } from '../lib/use-debounced.ts';
import { usePages } from './use-pages.ts';

/** Query of the whole list. */
const ALL = 'search=';

/** State of a list, and functions that change it. */
export interface Listing {
  search: string;
  /** Filter values by their names in the query. */
  filters: Readonly<Record<string, string>>;
  /** Whether a search or filter applies. */
  isNarrowed: boolean;
  order: string;
  descending: boolean;
  /** Query without a leading `&`. */
  query: string;
  /** Page number, from 1. */
  page: number;
  searchFor: (search: string) => void;
  /** Sets filters. `isTyped`: the user may continue typing. Other changes apply at once. */
  filter: (part: Readonly<Record<string, string>>, isTyped?: boolean) => void;
  /** Orders by a column. The same column again reverses the order. */
  sort: (order: string) => void;
  goOn: (next: string) => void;
  goBack: () => void;
}

/**
 * Returns the state of a list, with its initial order. `filters`: names in the query by which it can be filtered; their
 * values are kept in the address.
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

/** Returns the name of a filter in the address, which people read. */
function parameterOf(name: string): string {
  return name.replace(/^filter\./, '');
}

/**
 * Returns the values without surrounding blanks, and without empty ones. While the user types, a blank may stand at the
 * end.
 */
function trimmed(chosen: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(chosen)
      .map(([name, value]) => [name, value.trim()])
      .filter(([, value]) => value !== ''),
  );
}
