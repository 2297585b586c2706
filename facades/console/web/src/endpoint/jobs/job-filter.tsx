/** The filter of an endpoint's jobs. The address holds it, so that a link shows the same list. */

import { moment, stateText } from '../../lib/format.ts';
import { useAddress } from '../../lib/use-address.ts';
import { LAST, TimeFields } from '../../listing/time-fields.tsx';
import type { JobOrder, SubmittedPeriod } from './job-list.ts';
import { STATES } from './job-list.ts';

/** The filter and its setters. */
export interface JobFilter {
  status: string;
  order: JobOrder;
  submitted: SubmittedPeriod;
  /** Identifies the list: equal for equal filters. */
  key: string;
  set: (part: Readonly<Record<string, string>>) => void;
}

/** Reads the filter from the address. The service rejects invalid values. */
export function useJobFilter(): JobFilter {
  const [query, set] = useAddress();
  const of = (name: string): string => query.get(name) ?? '';
  const submitted = { from: of('from'), until: of('until') };
  return { status: of('status'), order: (of('order') || 'newest') as JobOrder, submitted, key: query.toString(), set };
}

/** Returns the time of submission as the end of a sentence; empty if any. */
export function timesText({ from, until }: SubmittedPeriod): string {
  const text = (time: string): string => (Number.isNaN(Date.parse(time)) ? time : moment(Date.parse(time)));
  const last = LAST.find(([value]) => value === from);
  const parts =
    last && until === ''
      ? [last[1]]
      : [from && `from ${text(from)} on`, until && `until ${text(until)}`].filter((part) => part !== '');
  return parts.length === 0 ? '' : `, submitted ${parts.join(', ')}`;
}

/** Shows the fields of the filter. */
export function FilterFields({
  filter: {
    status,
    submitted: { from, until },
    set,
  },
}: {
  filter: JobFilter;
}) {
  return (
    <>
      <label className="field">
        State{' '}
        <select value={status} onChange={({ target }) => set({ status: target.value })}>
          <option value="">all</option>
          {STATES.map((state) => (
            <option key={state} value={state}>
              {stateText(state)}
            </option>
          ))}
        </select>
      </label>
      <TimeFields label="Submitted" from={from} until={until} set={set} />
    </>
  );
}
