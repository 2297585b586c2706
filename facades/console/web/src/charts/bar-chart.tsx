/**
 * Sums by period as stacked bars: the largest groups by colours and the others together, told in a legend too, never by
 * colour alone.
 */
import type { UsageRecordView } from '../../../views.ts';
import { count } from '../lib/words.ts';

const WIDTH = 800;
const HEIGHT = 180;

/**
 * The chart. `periods`: when each begins, also those without any. `groups`: the largest first, and under no id all
 * others together; `groupCount`: those among them. `text` says a value for people.
 */
export function BarChart({
  records,
  periods,
  groups,
  groupCount,
  of,
  text,
  label,
  bucket,
}: {
  records: readonly UsageRecordView[];
  periods: readonly string[];
  groups: readonly (readonly [group: string, name: string])[];
  groupCount: number;
  of: (record: UsageRecordView) => number;
  text: (value: number) => string;
  label: string;
  bucket: string;
}) {
  const rest = groupCount - groups.length + 1;
  const names = groups.map(([group, name]) =>
    group === '' ? `${count(rest)} ${rest === 1 ? 'other' : 'others'}` : name,
  );
  const placeOf = new Map(groups.map(([group], place) => [group, place]));
  const stacks = new Map(periods.map((time) => [time, groups.map(() => 0)]));
  for (const each of records) {
    const stack = stacks.get(each.time);
    if (stack) stack[placeOf.get(each.group)!]! += of(each);
  }
  const most = Math.max(
    ...[...stacks.values()].map((stack) => stack.reduce((sum, value) => sum + value, 0)),
    Number.MIN_VALUE,
  );
  const step = WIDTH / periods.length;
  const total = records.reduce((sum, each) => sum + of(each), 0);
  return (
    <figure className="bars">
      <div className="plot">
        <div className="heights" aria-hidden="true">
          <span>{text(most)}</span>
          <span>{text(most / 2)}</span>
          <span>{text(0)}</span>
        </div>
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${label} by ${bucket}, ${text(total)} in all, at most ${text(most)}`}
        >
          {[0, HEIGHT / 2].map((y) => (
            <line key={y} x1="0" x2={WIDTH} y1={y} y2={y} />
          ))}
          {periods.map((time, index) => {
            let top = HEIGHT;
            return stacks.get(time)!.map((value, place) => {
              const height = (value / most) * HEIGHT;
              top -= height;
              return (
                <rect
                  key={`${time} ${place}`}
                  className={`bar-${place}`}
                  x={index * step + step * 0.12}
                  width={step * 0.76}
                  y={top}
                  height={height}
                >
                  <title>{`${periodText(time, bucket)} ${names[place]}: ${text(value)}`}</title>
                </rect>
              );
            });
          })}
        </svg>
      </div>
      <div className="ends" aria-hidden="true">
        {[0, Math.floor((periods.length - 1) / 2), periods.length - 1].map((at, place) => (
          <span key={place}>{periodText(periods[at]!, bucket)}</span>
        ))}
      </div>
      <figcaption>
        {names.map((name, place) => (
          <span key={place} title={name}>
            <i className={`bar-${place}`} aria-hidden="true" /> {name}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

/** When a period begins, in UTC as it is summed up. */
function periodText(time: string, bucket: string): string {
  return bucket === 'hour' ? time.slice(11, 16) : time.slice(bucket === 'month' ? 0 : 5, bucket === 'month' ? 7 : 10);
}

/** When each period begins between two moments, as core cuts time in UTC: weeks begin on Monday. */
export function periodsOf(startMs: number, endMs: number, bucket: string): string[] {
  const at = new Date(startMs);
  if (bucket === 'hour') at.setUTCMinutes(0, 0, 0);
  else at.setUTCHours(0, 0, 0, 0);
  if (bucket === 'week') at.setUTCDate(at.getUTCDate() - ((at.getUTCDay() + 6) % 7));
  if (bucket === 'month') at.setUTCDate(1);
  const periods: string[] = [];
  while (at.getTime() <= endMs) {
    periods.push(at.toISOString());
    if (bucket === 'hour') at.setUTCHours(at.getUTCHours() + 1);
    else if (bucket === 'month') at.setUTCMonth(at.getUTCMonth() + 1);
    else at.setUTCDate(at.getUTCDate() + (bucket === 'week' ? 7 : 1));
  }
  return periods;
}
