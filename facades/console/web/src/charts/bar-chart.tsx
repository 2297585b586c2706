/**
 * Sums by period as stacked bars. The largest groups have a colour each, all others share one. A legend names them, so
 * that nothing depends on colour alone.
 */
import type { UsageRecordView } from '../../../views-of-usage.ts';
import { count } from '../lib/format.ts';
import { periodText } from './periods.ts';

const WIDTH = 800;
const HEIGHT = 180;
/** Empty space on each side of a bar, as a share of the period's width. */
const BAR_MARGIN = 0.12;

interface Measure {
  /** Returns the value of one record. */
  of: (record: UsageRecordView) => number;
  /** Formats a value for people. */
  text: (value: number) => string;
  /** Name of the measure. */
  label: string;
}

interface Groups {
  records: readonly UsageRecordView[];
  /** Start of every period, also of empty ones. */
  periods: readonly string[];
  /** The largest groups first. The group with an empty id stands for all others together. */
  groups: readonly (readonly [group: string, name: string])[];
}

/** Draws the chart with its axes and legend. `groupCount` is the number of groups, also of those not named. */
export function BarChart({ groupCount, bucket, ...chart }: Groups & Measure & { groupCount: number; bucket: string }) {
  const { periods, groups, records, text, of, label } = chart;
  const others = groupCount - groups.length + 1;
  const names = groups.map(([group, name]) =>
    group === '' ? `${count(others)} ${others === 1 ? 'other' : 'others'}` : name,
  );
  const stacks = stacksOf(chart, of);
  const most = Math.max(...stacks.map((stack) => stack.reduce((sum, value) => sum + value, 0)), Number.MIN_VALUE);
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
          {stacks.map((stack, index) => (
            <Stack
              key={periods[index]}
              left={(index / periods.length) * WIDTH}
              width={WIDTH / periods.length}
              heights={stack.map((value) => (value / most) * HEIGHT)}
              titles={stack.map((value, at) => `${periodText(periods[index]!, bucket)} ${names[at]}: ${text(value)}`)}
            />
          ))}
        </svg>
      </div>
      <PeriodAxis periods={periods} bucket={bucket} />
      <Legend names={names} />
    </figure>
  );
}

/** Returns the value of each group in each period. */
function stacksOf({ records, periods, groups }: Groups, of: Measure['of']): number[][] {
  const indexOf = new Map(groups.map(([group], index) => [group, index]));
  const stacks = new Map(periods.map((time) => [time, groups.map(() => 0)]));
  for (const each of records) {
    const stack = stacks.get(each.time);
    if (stack) stack[indexOf.get(each.group)!]! += of(each);
  }
  return [...stacks.values()];
}

/** Draws one period: its groups on top of each other. */
function Stack({
  left,
  width,
  heights,
  titles,
}: {
  left: number;
  width: number;
  heights: readonly number[];
  titles: readonly string[];
}) {
  let top = HEIGHT;
  return heights.map((height, index) => {
    top -= height;
    return (
      <rect
        key={index}
        className={`bar-${index}`}
        x={left + width * BAR_MARGIN}
        width={width * (1 - 2 * BAR_MARGIN)}
        y={top}
        height={height}
      >
        <title>{titles[index]}</title>
      </rect>
    );
  });
}

/** Labels the first, the middle and the last period. */
function PeriodAxis({ periods, bucket }: { periods: readonly string[]; bucket: string }) {
  return (
    <div className="ends" aria-hidden="true">
      {[0, Math.floor((periods.length - 1) / 2), periods.length - 1].map((at, index) => (
        <span key={index}>{periodText(periods[at]!, bucket)}</span>
      ))}
    </div>
  );
}

function Legend({ names }: { names: readonly string[] }) {
  return (
    <figcaption>
      {names.map((name, index) => (
        <span key={index} title={name}>
          <i className={`bar-${index}`} aria-hidden="true" /> {name}
        </span>
      ))}
    </figcaption>
  );
}
