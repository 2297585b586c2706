/** From when until when: the last hour, day or 7 days, or two moments. */
import { useState } from 'react';
import { localTime, ZONE } from '../lib/format.ts';

/** Times before now that one chooses, and what they are called. */
export const LAST = [
  ['now-1h', 'in the last hour'],
  ['now-1d', 'in the last day'],
  ['now-7d', 'in the last 7 days'],
] as const;

/**
 * The fields. `from` and `until` as the service takes them: ISO 8601 or before now, as `now-1h`; either may be empty.
 * `isTyped`: one may be on the way to another time.
 */
export function TimeFields({
  label,
  from,
  until,
  set,
}: {
  label: string;
  from: string;
  until: string;
  set: (part: { from?: string; until?: string }, isTyped: boolean) => void;
}) {
  const isLast = until === '' && from.startsWith('now-');
  const [isOwn, setIsOwn] = useState(!isLast && from + until !== '');
  const choose = (next: string): void => {
    setIsOwn(next === 'own');
    set({ from: next === 'own' ? '' : next, until: '' }, false);
  };
  return (
    <>
      <label className="field">
        {label}{' '}
        <select value={isOwn ? 'own' : from} onChange={({ target }) => choose(target.value)}>
          <option value="">at any time</option>
          {LAST.map(([last, text]) => (
            <option key={last} value={last}>
              {text}
            </option>
          ))}
          {isLast && !LAST.some(([last]) => last === from) && <option value={from}>from {from} on</option>}
          <option value="own">from – until …</option>
        </select>
      </label>
      {isOwn && (
        <>
          <Moment name="from" value={from} set={(time) => set({ from: time }, true)} />
          <Moment name="until" value={until} set={(time) => set({ until: time }, true)} />
          <span className="hint">times of {ZONE}</span>
        </>
      )}
    </>
  );
}

/** Not what React holds: while one types a date it is none yet, and must not be written over. */
function Moment({ name, value, set }: { name: string; value: string; set: (iso: string) => void }) {
  return (
    <label className="field">
      {name}{' '}
      <input
        type="datetime-local"
        step="1"
        defaultValue={localTime(Date.parse(value))}
        onChange={({ target }) => {
          if (!target.validity.badInput) set(target.value === '' ? '' : new Date(target.value).toISOString());
        }}
      />
    </label>
  );
}
