/** The range of time of all charts of a page. The address holds it, so that a link shows the same. */
import { useAddress } from '../lib/use-address.ts';

const RANGES = [
  [15, '15 minutes'],
  [60, 'hour'],
  [180, '3 hours'],
  [720, '12 hours'],
] as const;
const MINUTES = 60;
const NAME = 'minutes';

/** Returns the range in minutes, and its setter. */
export function useRange(): [minutes: number, set: (minutes: number) => void] {
  const [query, set] = useAddress();
  const asked = Number(query.get(NAME));
  const minutes = RANGES.some(([each]) => each === asked) ? asked : MINUTES;
  return [minutes, (next) => set({ [NAME]: next === MINUTES ? '' : String(next) })];
}

/** Returns the range as text: `3 hours`. */
export function rangeText(minutes: number): string {
  return RANGES.find(([each]) => each === minutes)?.[1] ?? `${minutes}\u00A0min`;
}

/** Shows the choice. */
export function RangeChoice({ minutes, onChange }: { minutes: number; onChange: (minutes: number) => void }) {
  return (
    <label className="range">
      Charts: in the last{' '}
      <select value={minutes} onChange={({ target }) => onChange(Number(target.value))}>
        {RANGES.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
