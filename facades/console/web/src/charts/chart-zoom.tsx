/**
 * A part of a chart's time by itself: what one drags over, or by buttons its later half, what is before and after that,
 * and all of it again.
 */

import type { ReactNode } from 'react';
import { useRef, useState } from 'react';
import type uPlot from 'uplot';
import { moment } from '../lib/format.ts';

/** From when until when, in seconds since 1970. */
export interface Stretch {
  min: number;
  max: number;
}

/**
 * What is dragged over less than this was a click, in pixels; what is shorter than this is not shown by itself, in
 * seconds.
 */
const DRAG_MIN = 5;
const STRETCH_MIN = 2;
/** Moments are whole milliseconds: two that lie nearer together are the same one, apart by rounding, in seconds. */
const SAME = 0.000_5;

/**
 * The part that is shown by itself. What was chosen is no more once it is out of the chart's `times`, in milliseconds.
 */
export function useZoom(times: readonly number[]) {
  const [chosen, choose] = useState<Stretch>();
  const whole: Stretch = { min: (times[0] ?? 0) / 1_000, max: (times.at(-1) ?? 0) / 1_000 };
  const zoom = chosen && chosen.min < whole.max && chosen.max > whole.min ? chosen : undefined;
  const shown = useRef(zoom);
  shown.current = zoom;
  return { zoom, shown, choose, whole };
}

/** The buttons. */
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
  // The part may go out of the chart by itself: who stands on a step then stays there.
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

/** A button. Without a place to go `to` it is not disabled: the focus would be lost. */
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

/** Half of its length before it, as far as there is something; undefined: it begins with the chart. */
function earlier({ min, max }: Stretch, whole: Stretch): Stretch | undefined {
  const wanted = min - (max - min) / 2;
  // A chart that begins a trace later would lack its first moment.
  const from = wanted < whole.min + SAME ? whole.min : wanted;
  return from < min ? { min: from, max: from + max - min } : undefined;
}

/** Half of its length after it, as far as there is something; undefined: it ends with the chart. */
function later({ min, max }: Stretch, whole: Stretch): Stretch | undefined {
  const wanted = max + (max - min) / 2;
  const until = wanted > whole.max - SAME ? whole.max : wanted;
  return until > max ? { min: until - (max - min), max: until } : undefined;
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
