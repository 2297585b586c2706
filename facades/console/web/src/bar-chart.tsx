/** Sums by period as stacked bars: the largest groups by colours and the others together, told in a legend too, never by colour alone. */
import type { UsageRecordView } from '../../views.ts';

/** Groups with a colour of their own. */
const SHOWN = 5;
const WIDTH = 800;
const HEIGHT = 180;

/** The chart. `text` says a value for people. */
export function BarChart({ records, of, text, label, bucket }: {
  records: readonly UsageRecordView[]; of: (record: UsageRecordView) => number; text: (value: number) => string; label: string; bucket: string;
}) {
  const sums = new Map<string, number>();
  for (const each of records) sums.set(each.name, (sums.get(each.name) ?? 0) + of(each));
  const names = [...sums].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  const shown = names.length > SHOWN + 1 ? [...names.slice(0, SHOWN), ''] : names;
  const placeOf = new Map(shown.map((name, place) => [name, place]));
  const periods = [...new Set(records.map(({ time }) => time))].sort();
  const stacks = new Map(periods.map((time) => [time, shown.map(() => 0)]));
  for (const each of records) stacks.get(each.time)![placeOf.get(each.name) ?? shown.length - 1]! += of(each);
  const most = Math.max(...[...stacks.values()].map((stack) => stack.reduce((sum, value) => sum + value, 0)), Number.MIN_VALUE);
  const step = WIDTH / Math.max(periods.length, 8);
  const words = (time: string): string => time.slice(bucket === 'hour' ? 11 : 5, bucket === 'hour' ? 16 : 10);
  const total = [...sums.values()].reduce((sum, value) => sum + value, 0);
  return (
    <figure className="bars">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img"
        aria-label={`${label} by ${bucket}, ${text(total)} in all, at most ${text(most)}`}
      >
        {periods.map((time, index) => {
          let top = HEIGHT;
          return stacks.get(time)!.map((value, place) => {
            const height = value / most * (HEIGHT - 6);
            top -= height;
            return (
              <rect key={`${time} ${place}`} className={`bar-${place}`} x={index * step + step * .12} width={step * .76} y={top} height={height}>
                <title>{`${words(time)} ${shown[place] || 'all others'}: ${text(value)}`}</title>
              </rect>
            );
          });
        })}
      </svg>
      <div className="ends">
        <span>{words(periods[0]!)}</span><span>at most {text(most)}</span><span>{periods.length > 1 ? words(periods.at(-1)!) : ''}</span>
      </div>
      <figcaption>
        {shown.map((name, place) => <span key={name}><i className={`bar-${place}`} aria-hidden="true" /> {name || `${names.length - SHOWN} others`}</span>)}
      </figcaption>
    </figure>
  );
}
