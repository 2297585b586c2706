/** Selects a period: the last hour, day or 7 days, or two times. */
import { useState } from 'react';
import { localTime, ZONE } from '../lib/format.ts';

/** Selectable periods before now, with their labels. */
export const LAST = [
  ['now-1h', 'in the last hour'],
  ['now-1d', 'in the last day'],
  ['now-7d', 'in the last 7 days'],
] as const;

/**
 * Shows the fields. `from` and `until` in the form of the service: ISO 8601, or relative as `now-1h`; either may be
 * empty. `isTyped`: the user may still be typing.
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
          <option value="">any time</option>
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

/** An uncontrolled input: a date that is being typed is not valid yet and must not be overwritten. */
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
