/** A part of a chart's time by itself: what one drags over, or by a button its later half, and all of it again. */
import { useRef, useState } from 'react';
import type uPlot from 'uplot';
import { moment } from './words.ts';

/** From when until when, in seconds since 1970. */
export interface Stretch {
  min: number;
  max: number;
}

/** What is dragged over less than this was a click, in pixels; what is shorter than this is not shown by itself, in seconds. */
const DRAG_MIN = 5;
const STRETCH_MIN = 2;

/** The part that is shown by itself. What was chosen is no more once it is out of the chart's `times`, in milliseconds. */
export function useZoom(times: readonly number[]) {
  const [chosen, choose] = useState<Stretch>();
  const whole: Stretch = { min: (times[0] ?? 0) / 1_000, max: (times.at(-1) ?? 0) / 1_000 };
  const zoom = chosen && chosen.min < whole.max && chosen.max > whole.min ? chosen : undefined;
  const shown = useRef(zoom);
  shown.current = zoom;
  return { zoom, shown, choose, whole };
}

/** The buttons. */
export function Zoom({ zoom, whole, choose, label }: {
  zoom: Stretch | undefined; whole: Stretch; choose: (stretch: Stretch | undefined) => void; label: string;
}) {
  return (
    <span className="choices">
      {zoom && <span className="hint">{moment(zoom.min * 1_000)} – {moment(zoom.max * 1_000)}</span>}
      <button type="button" className="quiet" onClick={() => choose(laterHalf(zoom ?? whole))}>
        Zoom in<span className="spoken"> on the later half of: {label}</span>
      </button>
      {/* Not disabled: the focus would be lost with the zoom. */}
      <button type="button" className="quiet" aria-disabled={!zoom} onClick={() => choose(undefined)}>All<span className="spoken"> of: {label}</span></button>
    </span>
  );
}

function laterHalf({ min, max }: Stretch): Stretch {
  return { min: Math.max(Math.min((min + max) / 2, max - STRETCH_MIN), min), max };
}

/** Dragging and double clicks. The page says what is shown, for it is drawn anew with each moment that comes. */
export function zooming(choose: (stretch: Stretch | undefined) => void): Pick<uPlot.Options, 'cursor' | 'hooks'> {
  const all = (): null => {
    choose(undefined);
    return null;
  };
  return {
    cursor: { y: false, drag: { x: true, y: false, setScale: false, dist: DRAG_MIN }, bind: { dblclick: () => all } },
    hooks: { setSelect: [(plot) => dragged(plot, choose)] },
  };
}

/** The most of what is in sight, where each value is as it is until the next. */
export function highest({ data: [times, ...lines], scales }: uPlot): number {
  const from = times.findLastIndex((at) => at <= (scales['x']?.min ?? 0));
  const until = times.findLastIndex((at) => at <= (scales['x']?.max ?? Infinity));
  let most = 0;
  for (const values of lines) for (let at = Math.max(from, 0); at <= until; at += 1) most = Math.max(most, values[at] ?? 0);
  return most;
}

function dragged(plot: uPlot, choose: (stretch: Stretch) => void): void {
  const { left, width } = plot.select;
  if (width < DRAG_MIN) return;
  const stretch = { min: plot.posToVal(left, 'x'), max: plot.posToVal(left + width, 'x') };
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  if (stretch.max - stretch.min >= STRETCH_MIN) choose(stretch);
}
