/** Picks one or more resources of the account. Core searches; a few matches are shown at a time. */

import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useId, useState } from 'react';
import type { ListView } from '../../../views.ts';
import { ask } from '../lib/api.ts';
import { useDebounced } from '../lib/use-debounced.ts';
import { Failed, Overdue } from '../ui/parts.tsx';

/** Most choices that are shown. */
const OFFERED_MAX = 50;

/** A resource that can be picked. */
export interface Picked {
  id: string;
  name: string;
}

/** The choices. */
export interface Offer {
  /** Path of the console's list. */
  path: string;
  /** Filters of the list. */
  filters?: Readonly<Record<string, string>>;
  /** Name of the kind of resource. */
  what: string;
  /** Shown if the list is empty: says what to do. Absent: the field is hidden. */
  none?: ReactNode;
}

interface PickProps {
  legend: string;
  about?: string;
  offer: Offer;
  /** How many may be picked. */
  how: 'one' | 'one or none' | 'some or none';
  chosen: readonly Picked[];
  onChange: (chosen: readonly Picked[]) => void;
}

/** Shows the field. Chosen resources stay visible, whatever the search finds. */
export function Pick({ legend, about, offer: { path, filters = {}, what, none }, how, chosen, onChange }: PickProps) {
  const [search, setSearch] = useState('');
  const hint = useId();
  const wanted = search.trim();
  const debounced = useDebounced(wanted, wanted !== '');
  const page = { search: debounced, order: 'name', size: String(OFFERED_MAX) };
  const asked = `${path}?${new URLSearchParams({ ...filters, ...page })}`;
  const { data, error, refetch, failureReason, isPlaceholderData } = useQuery({
    queryKey: ['choices', asked],
    queryFn: () => ask<ListView>('GET', asked),
    placeholderData: keepPreviousData,
  });
  const rows = data?.rows.map(({ id, name }) => ({ id: String(id), name: String(name) })) ?? [];
  const isSought = search !== '' || debounced !== '' || isPlaceholderData;
  const isEmpty = data !== undefined && rows.length === 0 && chosen.length === 0 && !isSought;
  if (isEmpty && none === undefined) return null;
  return (
    <fieldset className="choose" aria-describedby={about === undefined ? undefined : hint}>
      <legend>{legend}</legend>
      {chosen.length > 0 && (
        <p>
          Chosen:{' '}
          <strong>{chosen.map((one) => rows.find(({ id }) => id === one.id)?.name ?? one.name).join(', ')}</strong>
        </p>
      )}
      {(isSought || (data && data.next !== '')) && <Find what={what} search={search} onChange={setSearch} />}
      {data ? (
        <Overdue failureReason={failureReason} isPlaceholderData={isPlaceholderData} />
      ) : error ? (
        <Failed error={error} again={() => void refetch()} />
      ) : (
        <p className="hint">Loading …</p>
      )}
      <Offered rows={rows} how={how} chosen={chosen} onChange={onChange} />
      <div role="status">
        {isEmpty && <p>{none}</p>}
        {rows.length === 0 && isSought && !isPlaceholderData && <p className="hint">No {what} matches.</p>}
        {data && data.next !== '' && <p className="hint">There are more. Search to find them.</p>}
      </div>
      {about !== undefined && (
        <p className="hint" id={hint}>
          {about}
        </p>
      )}
    </fieldset>
  );
}

function Find({ what, search, onChange }: { what: string; search: string; onChange: (search: string) => void }) {
  const text = `ind ${/^[aeiou]/.test(what) ? 'an' : 'a'} ${what}`;
  return (
    <input
      type="search"
      aria-label={`F${text}`}
      placeholder={`f${text}`}
      maxLength={200}
      value={search}
      onChange={({ target }) => onChange(target.value)}
      // Enter must not submit the form around it.
      onKeyDown={(event) => {
        if (event.key === 'Enter') event.preventDefault();
      }}
    />
  );
}

/**
 * Lists the choices in a stable order, so that none moves under the pointer. Chosen ones that the search did not find
 * come first.
 */
function Offered({ rows, how, chosen, onChange }: { rows: readonly Picked[] } & Omit<PickProps, 'legend' | 'offer'>) {
  const group = useId();
  const has = (among: readonly Picked[], { id }: Picked): boolean => among.some((one) => one.id === id);
  const option = (one: Picked | undefined, text: ReactNode) => {
    const isChosen = one === undefined ? chosen.length === 0 : has(chosen, one);
    const own = one === undefined ? [] : [one];
    const input =
      how === 'some or none' ? (
        <input
          type="checkbox"
          checked={isChosen}
          onChange={({ target }) =>
            onChange(target.checked ? [...chosen, ...own] : chosen.filter((other) => !has(own, other)))
          }
        />
      ) : (
        <input type="radio" name={group} required={how === 'one'} checked={isChosen} onChange={() => onChange(own)} />
      );
    return (
      <label key={one?.id ?? ''}>
        {input}
        <span>{text}</span>
      </label>
    );
  };
  const all = [...chosen.filter((one) => !has(rows, one)), ...rows];
  if (all.length === 0) return null;
  return (
    <div className="offered">
      {how === 'one or none' && option(undefined, 'none')}
      {all.map((one) =>
        option(
          one,
          <>
            {one.name} <code className="id">{one.id}</code>
          </>,
        ),
      )}
    </div>
  );
}
