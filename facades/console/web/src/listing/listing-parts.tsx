/** Controls around a list: search, filters, column heads and page links. */
import type { ReactNode } from 'react';
import { Failed } from '../ui/parts.tsx';
import { TimeFields } from './time-fields.tsx';
import type { Listing } from './use-listing.ts';

/** Shows the search field. `isPlain`: above the list instead of in its panel. */
export function Search({
  listing,
  isWhole = false,
  isPlain = false,
  children,
}: {
  listing: Listing;
  isWhole?: boolean | undefined;
  isPlain?: boolean;
  children?: ReactNode;
}) {
  return (
    <div className={isPlain ? 'tools plain' : 'tools'}>
      {!isWhole && (
        <>
          <label htmlFor="search">Search</label>
          <input
            id="search"
            type="search"
            maxLength={200}
            value={listing.search}
            onChange={({ target }) => listing.searchFor(target.value)}
          />
        </>
      )}
      {children}
    </div>
  );
}

/** A field by which a list can be filtered: one of a few values, a text, or a time. */
export interface Filter {
  /** Name in the query. For a time, the name of its start. */
  name: string;
  text: string;
  choices?: readonly (readonly [value: string, text: string])[];
  /** For a time, the name of its end in the query. */
  until?: string;
}

/** Returns the names of the filters in the query. */
export function namesOf(filters: readonly Filter[]): string[] {
  return filters.flatMap(({ name, until }) => (until === undefined ? [name] : [name, until]));
}

/** Choices of a yes-or-no filter. */
export const YES_NO = [
  ['yes', 'yes'],
  ['no', 'no'],
] as const;

/** Shows the filter fields of a list. */
export function Filters({
  listing: { filters: chosen, filter },
  filters,
}: {
  listing: Pick<Listing, 'filters' | 'filter'>;
  filters: readonly Filter[];
}) {
  return filters.map((one) => <Field key={one.name} filter={one} chosen={chosen} set={filter} />);
}

function Field({
  filter: { name, text, choices, until },
  chosen,
  set,
}: {
  filter: Filter;
  chosen: Readonly<Record<string, string>>;
  set: Listing['filter'];
}) {
  const value = chosen[name] ?? '';
  if (until !== undefined) {
    const setBoth = (part: { from?: string; until?: string }, isTyped: boolean): void =>
      set(
        {
          ...(part.from === undefined ? {} : { [name]: part.from }),
          ...(part.until === undefined ? {} : { [until]: part.until }),
        },
        isTyped,
      );
    return <TimeFields label={text} from={value} until={chosen[until] ?? ''} set={setBoth} />;
  }
  return (
    <span className="field">
      <label htmlFor={`by-${name}`}>{text}</label>
      {choices ? (
        <select id={`by-${name}`} value={value} onChange={({ target }) => set({ [name]: target.value })}>
          <option value="">any</option>
          {choices.map(([each, word]) => (
            <option key={each} value={each}>
              {word}
            </option>
          ))}
          {value !== '' && !choices.some(([each]) => each === value) && (
            <option value={value}>{value.slice(0, 40)}</option>
          )}
        </select>
      ) : (
        <input
          id={`by-${name}`}
          maxLength={200}
          value={value}
          onChange={({ target }) => set({ [name]: target.value }, true)}
        />
      )}
    </span>
  );
}

/** Shows the error of a list that cannot be filtered this way, with the controls that change the filter. */
export function Narrowed({ listing, filters, why }: { listing: Listing; filters: readonly Filter[]; why: Error }) {
  return (
    <section className="panel">
      <Search listing={listing}>
        <Filters listing={listing} filters={filters} />
      </Search>
      <Failed error={why} />
    </section>
  );
}

const ARROWS = { ascending: ' ↑', descending: ' ↓', none: '' };

/** Shows the head of a column. With `by` the list can be ordered by it. */
export function Head({
  listing: { order, descending, sort },
  text,
  by,
  className,
}: {
  listing: Pick<Listing, 'order' | 'descending' | 'sort'>;
  text: string;
  by?: string | undefined;
  className?: string;
}) {
  if (by === undefined) return <th className={className}>{text}</th>;
  const direction = descending ? 'descending' : 'ascending';
  const sorted = order === by ? direction : 'none';
  return (
    <th className={className} aria-sort={sorted}>
      <button type="button" onClick={() => sort(by)}>
        {text}
        {ARROWS[sorted]}
      </button>
    </th>
  );
}

/**
 * Links to the next and the previous page, if there is more than one. `isOld`: `next` belongs to the previous
 * selection.
 */
export function Pages({
  listing: { page, goOn, goBack },
  next,
  isOld,
}: {
  listing: Listing;
  next: string;
  isOld: boolean;
}) {
  if (page === 1 && next === '') return null;
  return (
    <div className="more">
      <button type="button" disabled={page === 1} onClick={goBack}>
        Previous
      </button>
      <More isOld={isOld} hasMore={next !== ''} onClick={() => goOn(next)}>
        Next
      </More>
      <span className="hint">page {page}</span>
    </div>
  );
}

/** Shows the link to the next page. It works as soon as the start of that page is known. */
export function More({
  isOld,
  hasMore,
  onClick,
  children,
}: {
  isOld: boolean;
  hasMore: boolean;
  onClick: () => void;
  children: ReactNode;
}) {
  // Not disabled while it waits, because it would lose the focus.
  return (
    <button
      type="button"
      disabled={!hasMore && !isOld}
      aria-disabled={isOld}
      onClick={() => {
        if (!isOld) onClick();
      }}
    >
      {children}
    </button>
  );
}
