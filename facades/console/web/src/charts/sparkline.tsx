/** A small line of the last ten minutes, without axes. A sentence describes it to screen readers. */
import { PAST_MS } from '../../../views.ts';

const WIDTH = 120;
const HEIGHT = 28;

type Point = readonly [atMs: number, value: number | null];

/**
 * Draws the line. `points` are ascending in time; each value holds until the next point. Null is unknown: nothing is
 * drawn.
 */
export function Sparkline({
  points,
  nowMs,
  label,
  tone = 'queue',
}: {
  points: readonly Point[];
  nowMs: number;
  label: string;
  tone?: string;
}) {
  const values = points.map(([, value]) => value ?? 0);
  const most = Math.max(0, ...values);
  const x = (atMs: number): string => (Math.min(Math.max(1 - (nowMs - atMs) / PAST_MS, 0), 1) * WIDTH).toFixed(1);
  const y = (value: number): string => (HEIGHT - 2 - (value / Math.max(most, 1)) * (HEIGHT - 4)).toFixed(1);
  const text = `${label}: ${values.at(-1) ?? 0} now, ${most} at most in the last 10 minutes`;
  return (
    <svg
      className={`spark ${tone}`}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={text}
      preserveAspectRatio="none"
    >
      {knownParts(points, nowMs).map((part) => {
        const corners = part.flatMap(({ fromMs, toMs, value }) => [
          `${x(fromMs)},${y(value)}`,
          `${x(toMs)},${y(value)}`,
        ]);
        return (
          <g key={part[0]!.fromMs}>
            <polygon
              points={`${x(part[0]!.fromMs)},${HEIGHT} ${corners.join(' ')} ${x(part.at(-1)!.toMs)},${HEIGHT}`}
            />
            <polyline points={corners.join(' ')} />
          </g>
        );
      })}
    </svg>
  );
}

/** Returns the steps of the line, in parts without an unknown time between. */
function knownParts(points: readonly Point[], nowMs: number): { fromMs: number; toMs: number; value: number }[][] {
  const parts: { fromMs: number; toMs: number; value: number }[][] = [];
  let isKnown = false;
  for (const [index, [fromMs, value]] of points.entries()) {
    if (value !== null) {
      const step = { fromMs, toMs: points[index + 1]?.[0] ?? nowMs, value };
      if (isKnown) parts.at(-1)!.push(step);
      else parts.push([step]);
    }
    isKnown = value !== null;
  }
  return parts;
}
