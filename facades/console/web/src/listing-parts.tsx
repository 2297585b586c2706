/** What stands around a list: looking for something, its columns' heads, going to other pages. */
import type { ReactNode } from 'react';
import type { Listing } from './use-listing.ts';

/** Looking for something. */
export function Search({ listing, isWhole = false, children }: { listing: Listing; isWhole?: boolean | undefined; children?: ReactNode }) {
  return (
    <div className="tools">
      {!isWhole && <><label htmlFor="search">Search</label>
        <input id="search" type="search" maxLength={200} value={listing.search} onChange={({ target }) => listing.look(target.value)} /></>}
      {children}
    </div>
  );
}

/** A field that a list can be filtered by: one of a few values, or a text that it must be. */
export interface Filter {
  /** In the query. */
  name: string;
  text: string;
  choices?: readonly (readonly [value: string, text: string])[];
}

/** Only those whose fields are as one says. */
export function Filters({ listing: { filters: chosen, filter }, filters }: { listing: Listing; filters: readonly Filter[] }) {
  return filters.map(({ name, text, choices }) => (
    <span key={name} className="field">
      <label htmlFor={`by-${name}`}>{text}</label>
      {choices
        ? <select id={`by-${name}`} value={chosen[name] ?? ''} onChange={({ target }) => filter(name, target.value)}>
            <option value="">any</option>
            {choices.map(([value, word]) => <option key={value} value={value}>{word}</option>)}
          </select>
        : <input id={`by-${name}`} maxLength={200} value={chosen[name] ?? ''} onChange={({ target }) => filter(name, target.value)} />}
    </span>
  ));
}

/** The head of a column; with `order` one can order by it. */
export function Head({ listing: { order, descending, sort }, text, by, className }: {
  listing: Pick<Listing, 'order' | 'descending' | 'sort'>; text: string; by?: string | undefined; className?: string;
}) {
  if (by === undefined) return <th className={className}>{text}</th>;
  const isHere = order === by;
  return (
    <th className={className} aria-sort={!isHere ? 'none' : descending ? 'descending' : 'ascending'}>
      <button type="button" onClick={() => sort(by)}>{text}{!isHere ? '' : descending ? ' ↓' : ' ↑'}</button>
    </th>
  );
}

/** Going to the next page and back, where there is more than one. */
export function Pages({ listing: { page, goOn, goBack }, next }: { listing: Listing; next: string }) {
  if (page === 1 && next === '') return null;
  return (
    <div className="more">
      <button type="button" disabled={page === 1} onClick={goBack}>Previous</button>
      <button type="button" disabled={next === ''} onClick={() => goOn(next)}>Next</button>
      <span className="hint">page {page}</span>
    </div>
  );
}
