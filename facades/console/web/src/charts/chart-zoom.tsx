/** Zooms a chart in time: by dragging, or by buttons for the later half, earlier, later, and everything. */

import type { ReactNode } from 'react';
import { useRef, useState } from 'react';
import type uPlot from 'uplot';
import { moment } from '../lib/format.ts';

/** A range of time, in seconds since 1970. */
export interface Stretch {
  min: number;
  max: number;
}

/** Shortest drag that is not a click, in pixels, and shortest range that can be zoomed to, in seconds. */
const DRAG_MIN = 5;
const STRETCH_MIN = 2;
/** Times are whole milliseconds: two that are closer together are equal except for rounding. In seconds. */
const SAME = 0.000_5;
/** All charts of a page show the same moment under the pointer. */
const SHARED = 'time';

/** Holds the zoomed range. It is dropped once it is outside of the chart's `times`, which are in milliseconds. */
export function useZoom(times: readonly number[]) {
  const [chosen, choose] = useState<Stretch>();
  const whole: Stretch = { min: (times[0] ?? 0) / 1_000, max: (times.at(-1) ?? 0) / 1_000 };
  const zoom = chosen && chosen.min < whole.max && chosen.max > whole.min ? chosen : undefined;
  const shown = useRef(zoom);
  shown.current = zoom;
  return { zoom, shown, choose, whole };
}

/** Shows the buttons. */
export function Zoom({
  zoom,
  whole,
  choose,
  label,
}: {
  zoom: Stretch | undefined;
  whole: Stretch;
  choose: (stretch: Stretch | undefined) => void;
  label: string;
}) {
  // The range may leave the chart by itself: a button that has the focus then keeps it.
  const [isOnStep, setIsOnStep] = useState(false);
  return (
    <span className="choices">
      {zoom && (
        <span className="hint" role="status">
          {moment(zoom.min * 1_000)} – {moment(zoom.max * 1_000)}
        </span>
      )}
      {(zoom || isOnStep) && (
        <span
          className="choices"
          onFocus={() => setIsOnStep(true)}
          onBlur={({ currentTarget, relatedTarget }) => setIsOnStep(currentTarget.contains(relatedTarget))}
        >
          <Step to={zoom && earlier(zoom, whole)} choose={choose}>
            Earlier<span className="spoken"> part of: {label}</span>
          </Step>
          <Step to={zoom && later(zoom, whole)} choose={choose}>
            Later<span className="spoken"> part of: {label}</span>
          </Step>
        </span>
      )}
      <Step to={laterHalf(zoom ?? whole)} choose={choose}>
        Zoom in<span className="spoken"> on the later half of: {label}</span>
      </Step>
      <Step to={zoom && 'all'} choose={choose}>
        All<span className="spoken"> of: {label}</span>
      </Step>
    </span>
  );
}

/** A button. Without a range to go `to` it is not disabled, because it would lose the focus. */
function Step({
  to,
  choose,
  children,
}: {
  to: Stretch | 'all' | undefined;
  choose: (stretch: Stretch | undefined) => void;
  children: ReactNode;
}) {
  const go = (): void => {
    if (to) choose(to === 'all' ? undefined : to);
  };
  return (
    <button type="button" className="quiet" aria-disabled={!to} onClick={go}>
      {children}
    </button>
  );
}

/** Returns the range moved back by half of its length, at most to the chart's start; `undefined` if it starts there. */
function earlier({ min, max }: Stretch, whole: Stretch): Stretch | undefined {
  const wanted = min - (max - min) / 2;
  // A range that starts a fraction later would miss the first point.
  const from = wanted < whole.min + SAME ? whole.min : wanted;
  return from < min ? { min: from, max: from + max - min } : undefined;
}

/** Returns the range moved forward by half of its length, at most to the chart's end; `undefined` if it ends there. */
function later({ min, max }: Stretch, whole: Stretch): Stretch | undefined {
  const wanted = max + (max - min) / 2;
  const until = wanted > whole.max - SAME ? whole.max : wanted;
  return until > max ? { min: until - (max - min), max: until } : undefined;
}

function laterHalf({ min, max }: Stretch): Stretch {
  return { min: Math.max(Math.min((min + max) / 2, max - STRETCH_MIN), min), max };
}

/**
 * Returns uPlot's options for dragging and double clicks. The page holds the range, because each new point redraws the
 * chart.
 */
export function zooming(choose: (stretch: Stretch | undefined) => void): Pick<uPlot.Options, 'cursor' | 'hooks'> {
  const all = (): null => {
    choose(undefined);
    return null;
  };
  return {
    cursor: {
      y: false,
      drag: { x: true, y: false, setScale: false, dist: DRAG_MIN },
      bind: { dblclick: () => all },
      sync: { key: SHARED, setSeries: false, scales: ['x', null], filters: { pub: isPointing, sub: isPointing } },
    },
    hooks: { setSelect: [(plot) => dragged(plot, choose)] },
  };
}

/** Dragging zooms only the chart under the pointer. */
function isPointing(type: string): boolean {
  return type === 'mousemove' || type === 'mouseleave';
}

/** Returns the highest visible value. Each value holds until the next point. */
export function highest({ data: [times, ...lines], scales }: uPlot): number {
  const from = times.findLastIndex((at) => at <= (scales['x']?.min ?? 0));
  const until = times.findLastIndex((at) => at <= (scales['x']?.max ?? Infinity));
  let most = 0;
  for (const values of lines)
    for (let at = Math.max(from, 0); at <= until; at += 1) most = Math.max(most, values[at] ?? 0);
  return most;
}

function dragged(plot: uPlot, choose: (stretch: Stretch) => void): void {
  const { left, width } = plot.select;
  if (width < DRAG_MIN) return;
  const stretch = { min: plot.posToVal(left, 'x'), max: plot.posToVal(left + width, 'x') };
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  if (stretch.max - stretch.min >= STRETCH_MIN) choose(stretch);
}
