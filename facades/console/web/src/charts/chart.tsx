/**
 * A chart over time, drawn by uPlot. It draws on a canvas, so it reads its colours from the page and is redrawn when
 * they change.
 */
import { useEffect, useRef, useState } from 'react';
import uPlot from 'uplot';
import { mark, moment, roundSpan, span } from '../lib/format.ts';
import type { Stretch } from './chart-zoom.tsx';
import { highest, useZoom, Zoom, zooming } from './chart-zoom.tsx';

/** One line of the chart. */
interface Series {
  label: string;
  /** A colour of styles/base.css, for instance `--queue`. */
  colour: string;
  /** Each value holds until the next point; null if there is none. */
  values: readonly (number | null)[];
}

/** The vertical axis: possible marks, formats of marks and values, and its width in pixels. */
interface Scale {
  marks: number[];
  mark: (value: number) => string;
  text: (value: number) => string;
  size: number;
  /** Draws points, so that a single step is visible. */
  points: boolean;
}

const HEIGHT = 220;
/** Most rows of a chart shown as a table. The newest are shown. */
const TABLE_ROWS_MAX = 200;
/** Marks of counts are whole numbers. */
const WHOLE = [1, 2, 5]
  .flatMap((first) => Array.from({ length: 10 }, (_, zeros) => first * 10 ** zeros))
  .sort((a, b) => a - b);
const COUNTS: Scale = { marks: WHOLE, mark: String, text: String, size: 46, points: false };
/** The axis of durations in milliseconds. */
export const SPANS: Scale = {
  marks: [
    ...WHOLE.filter((ms) => ms < 10_000),
    ...[10, 30].map((seconds) => seconds * 1_000),
    ...[1, 2, 5, 10, 30].map((minutes) => minutes * 60_000),
    ...[1, 2, 6, 12, 24, 48, 120].map((hours) => hours * 3_600_000),
  ],
  mark: (ms) => (ms === 0 ? '0' : roundSpan(ms)),
  text: span,
  size: 62,
  points: true,
};

/** Draws the chart. `times` are in milliseconds, ascending. `label` describes it to screen readers. */
export function Chart({
  times,
  series,
  label,
  scale = COUNTS,
}: {
  times: readonly number[];
  series: readonly Series[];
  label: string;
  scale?: Scale;
}) {
  const container = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const theme = useThemeChanges();
  const data = [times.map((ms) => ms / 1_000), ...series.map(({ values }) => [...values])] as uPlot.AlignedData;
  const latest = useRef(data);
  latest.current = data;
  const names = series.map((one) => one.label).join();
  const { zoom, shown, choose, whole } = useZoom(times);
  useEffect(() => {
    const root = container.current!;
    const made = new uPlot(options(root.clientWidth, series, scale, choose), latest.current, root);
    plot.current = made;
    const watch = new ResizeObserver(() => made.setSize({ width: root.clientWidth, height: HEIGHT }));
    watch.observe(root);
    return () => {
      watch.disconnect();
      made.destroy();
    };
    // Series with the same names are the same series.
  }, [names, theme]);
  useEffect(() => {
    plot.current?.setData(latest.current, shown.current === undefined);
    if (shown.current) plot.current?.setScale('x', shown.current);
  });
  const now = series.map(({ label: name, values }) => `${name} ${valueText(scale, values.at(-1))}`).join(', ');
  return (
    <>
      <div className="chart" ref={container} role="img" aria-label={`${label}. Now: ${now}.`} />
      <div className="zoom">
        <AsTable times={times} series={series} label={label} scale={scale} />
        <Zoom zoom={zoom} whole={whole} choose={choose} label={label} />
      </div>
    </>
  );
}

/** Shows the values as a table, newest first. Rows are made only while it is open. */
function AsTable({
  times,
  series,
  label,
  scale,
}: {
  times: readonly number[];
  series: readonly Series[];
  label: string;
  scale: Scale;
}) {
  const [isOpen, setIsOpen] = useState(false);
  const indexes = isOpen ? [...times.keys()].slice(-TABLE_ROWS_MAX).toReversed() : [];
  return (
    <details className="as-table" onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>As a table</summary>
      {isOpen && (
        <div className="scroll" tabIndex={0} role="region" aria-label={`${label}, as a table`}>
          <table className="rows">
            <thead>
              <tr>
                <th>At</th>
                {series.map(({ label: name }) => (
                  <th key={name} className="right">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {indexes.map((index) => (
                <tr key={times[index]}>
                  <th scope="row">{moment(times[index]!)}</th>
                  {series.map(({ label: name, values }) => (
                    <td key={name} className="right number">
                      {valueText(scale, values[index])}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}

function valueText({ text }: Scale, value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : text(value);
}

/** Steps between times on the axis, in seconds: marks show no parts of a second. */
const TIME_STEPS = [
  ...[1, 2, 5, 10, 15, 30],
  ...[60, 120, 300, 600, 900, 1_800],
  ...[3_600, 7_200, 10_800, 21_600, 43_200, 86_400],
];

/** Returns uPlot's options. `choose` receives the dragged range; `undefined` for everything. */
function options(
  width: number,
  series: readonly Series[],
  scale: Scale,
  choose: (stretch: Stretch | undefined) => void,
): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour('--soft'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui, sans-serif',
  };
  const marks = (_plot: uPlot, ticks: number[]): string[] =>
    ticks.map((tick) => mark(tick * 1_000, ((ticks[1] ?? tick) - ticks[0]!) * 1_000));
  // Without a pointer on the chart the legend shows the latest values.
  const shown = (plot: uPlot, value: number | null, index: number, at: number | null): number | null | undefined =>
    at === null ? plot.data[index]!.at(-1) : value;
  return {
    width,
    height: HEIGHT,
    legend: { live: true },
    ...zooming(choose),
    scales: { y: { range: (plot) => [0, Math.max(1, highest(plot) * 1.1)] } },
    axes: [
      { ...axis, size: 26, space: 90, incrs: TIME_STEPS, values: marks },
      { ...axis, size: scale.size, incrs: scale.marks, values: (_plot, ticks) => ticks.map(scale.mark) },
    ],
    series: [
      { label: 'at', value: (plot, value, index, at) => moment((shown(plot, value, index, at) ?? 0) * 1_000) },
      ...series.map(({ label, colour: name }, index) => ({
        label,
        stroke: colour(name),
        width: 1.5,
        points: scale.points ? { show: true, size: 4, fill: colour(name) } : { show: false },
        paths: uPlot.paths.stepped!({ align: 1 }),
        // Fills of several lines would mix to a colour without a meaning.
        ...(index === 0 ? { fill: `color-mix(in srgb, ${colour(name)} 14%, transparent)` } : {}),
        value: (plot: uPlot, value: number | null, at: number, hovered: number | null) =>
          valueText(scale, shown(plot, value, at, hovered)),
      })),
    ],
  };
}

/** Returns a number that grows when the colours of the page change. */
function useThemeChanges(): number {
  const [changes, setChanges] = useState(0);
  useEffect(() => {
    const count = (): void => setChanges((before) => before + 1);
    const system = matchMedia('(prefers-color-scheme: dark)');
    window.addEventListener('slipway-theme', count);
    system.addEventListener('change', count);
    return () => {
      window.removeEventListener('slipway-theme', count);
      system.removeEventListener('change', count);
    };
  }, []);
  return changes;
}
