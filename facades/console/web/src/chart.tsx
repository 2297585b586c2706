/** A chart of the course of time, drawn by uPlot. It draws on a canvas, so it takes its colours from the page and is told when they change. */
import { useEffect, useRef, useState } from 'react';
import uPlot from 'uplot';

/** One line of it. */
export interface Series {
  label: string;
  /** A colour of styles/base.css, for instance `--queue`. */
  colour: string;
  values: readonly (number | null)[];
  /** It keeps its value until the next. */
  isStep?: boolean;
}

const HEIGHT = 220;

/** `times` in milliseconds, rising. `label`: what it shows, for those who do not see it. */
export function Chart({ times, series, label, unit }: { times: readonly number[]; series: readonly Series[]; label: string; unit?: string }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const theme = useThemeTurns();
  const data = [times.map((ms) => ms / 1_000), ...series.map(({ values }) => [...values])] as uPlot.AlignedData;
  const latest = useRef(data);
  latest.current = data;
  const names = series.map((one) => one.label).join();
  useEffect(() => {
    const root = place.current!;
    const made = new uPlot(options(root.clientWidth, series, unit), latest.current, root);
    plot.current = made;
    const watch = new ResizeObserver(() => made.setSize({ width: root.clientWidth, height: HEIGHT }));
    watch.observe(root);
    return () => { watch.disconnect(); made.destroy(); };
    // Series are the same as long as their names are.
  }, [names, theme, unit]);
  useEffect(() => {
    plot.current?.setData(latest.current);
    // Without a hand on the chart the legend tells the present.
    if (plot.current?.cursor.idx == null) plot.current?.setLegend({ idx: latest.current[0].length - 1 });
  });
  const now = series.map(({ label: name, values }) => `${name} ${values.at(-1) ?? 0}`).join(', ');
  return <div className="chart" ref={place} role="img" aria-label={`${label}. Now: ${now}.`} />;
}

function options(width: number, series: readonly Series[], unit = ''): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const axis = { stroke: colour('--soft'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false }, font: '11px system-ui, sans-serif' };
  const steps = uPlot.paths.stepped!({ align: 1 });
  return {
    width, height: HEIGHT, cursor: { y: false }, legend: { live: true },
    scales: { y: { range: (_plot, _least, most) => [0, Math.max(1, most * 1.1)] } },
    axes: [axis, { ...axis, size: 46, values: (_plot, ticks) => ticks.map((tick) => (Number.isInteger(tick) || unit !== '' ? `${tick}${unit}` : '')) }],
    series: [{ label: 'at' }, ...series.map(({ label, colour: name, isStep }) => ({
      label, stroke: colour(name), width: 1.5, fill: `color-mix(in srgb, ${colour(name)} 9%, transparent)`, points: { show: false }, spanGaps: true,
      ...(isStep ? { paths: steps } : {}),
    }))],
  };
}

/** Rises when the colours of the page have changed. */
function useThemeTurns(): number {
  const [turns, setTurns] = useState(0);
  useEffect(() => {
    const turn = (): void => setTurns((before) => before + 1);
    const system = matchMedia('(prefers-color-scheme: dark)');
    window.addEventListener('slipway-theme', turn);
    system.addEventListener('change', turn);
    return () => { window.removeEventListener('slipway-theme', turn); system.removeEventListener('change', turn); };
  }, []);
  return turns;
}
