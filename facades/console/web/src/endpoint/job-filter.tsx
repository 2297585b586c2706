/** Which jobs of an endpoint are listed. It stands in the address, so that a link shows the same. */
import { useState } from 'react';
import { useSearchParams } from 'wouter';
import { localTime, moment, ZONE } from '../words.ts';
import { STATES } from './job-list.ts';
import type { JobOrder, Submitted } from './job-list.ts';

const LAST = [['now-1h', 'in the last hour'], ['now-1d', 'in the last day'], ['now-7d', 'in the last 7 days']] as const;

/** What is listed, and what changes that. */
export interface JobFilter {
  status: string;
  order: JobOrder;
  submitted: Submitted;
  /** The same for the same list. */
  key: string;
  set: (part: Readonly<Record<string, string>>) => void;
}

/** Reads it from the address. What cannot be is the service's to refuse. */
export function useJobFilter(): JobFilter {
  const [query, setQuery] = useSearchParams();
  const of = (name: string): string => query.get(name) ?? '';
  const set = (part: Readonly<Record<string, string>>): void => setQuery((before) => {
    const next = new URLSearchParams(before);
    for (const [name, value] of Object.entries(part)) {
      if (value === '') next.delete(name);
      else next.set(name, value);
    }
    return next;
  }, { replace: true });
  const submitted = { from: of('from'), until: of('until') };
  return { status: of('status'), order: (of('order') || 'newest') as JobOrder, submitted, key: query.toString(), set };
}

/** When its jobs were submitted, as the end of a sentence; empty: whenever. */
export function timesText({ from, until }: Submitted): string {
  const text = (time: string): string => (Number.isNaN(Date.parse(time)) ? time : moment(Date.parse(time)));
  const last = LAST.find(([value]) => value === from);
  const parts = last && until === '' ? [last[1]] : [from && `from ${text(from)} on`, until && `until ${text(until)}`].filter((part) => part !== '');
  return parts.length === 0 ? '' : `, submitted ${parts.join(', ')}`;
}

/** Its fields. */
export function FilterFields({ filter: { status, submitted: { from, until }, set } }: { filter: JobFilter }) {
  const isLast = until === '' && from.startsWith('now-');
  const [isOwn, setIsOwn] = useState(!isLast && from + until !== '');
  const choose = (next: string): void => {
    setIsOwn(next === 'own');
    set({ from: next === 'own' ? '' : next, until: '' });
  };
  return (
    <>
      <label className="field">State{' '}
        <select value={status} onChange={({ target }) => set({ status: target.value })}>
          <option value="">all</option>
          {STATES.map((state) => <option key={state} value={state}>{state.toLowerCase().replaceAll('_', ' ')}</option>)}
        </select>
      </label>
      <label className="field">Submitted{' '}
        <select value={isOwn ? 'own' : from} onChange={({ target }) => choose(target.value)}>
          <option value="">at any time</option>
          {LAST.map(([last, text]) => <option key={last} value={last}>{text}</option>)}
          {isLast && !LAST.some(([last]) => last === from) && <option value={from}>from {from} on</option>}
          <option value="own">from – until …</option>
        </select>
      </label>
      {isOwn && (
        <>
          <Moment name="from" value={from} set={(time) => set({ from: time })} />
          <Moment name="until" value={until} set={(time) => set({ until: time })} />
          <span className="hint">times of {ZONE}</span>
        </>
      )}
    </>
  );
}

/** Not what React holds: while one types a date it is none yet, and must not be written over. */
function Moment({ name, value, set }: { name: string; value: string; set: (iso: string) => void }) {
  return (
    <label className="field">{name}{' '}
      <input
        type="datetime-local" step="1" defaultValue={localTime(Date.parse(value))}
        onChange={({ target }) => { if (!target.validity.badInput) set(target.value === '' ? '' : new Date(target.value).toISOString()); }}
      />
    </label>
  );
}
