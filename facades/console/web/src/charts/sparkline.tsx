/** A small line of the last ten minutes, without axes. A sentence describes it to screen readers. */
import { PAST_MS } from '../../../views.ts';

const WIDTH = 120;
const HEIGHT = 28;

/** Draws the line. `points` are ascending in time; each value holds until the next point. */
export function Sparkline({
  points,
  nowMs,
  label,
  tone = 'queue',
}: {
  points: readonly (readonly [atMs: number, value: number])[];
  nowMs: number;
  label: string;
  tone?: string;
}) {
  const values = points.map(([, value]) => value);
  const most = Math.max(0, ...values);
  const x = (atMs: number): string => (Math.min(Math.max(1 - (nowMs - atMs) / PAST_MS, 0), 1) * WIDTH).toFixed(1);
  const y = (value: number): string => (HEIGHT - 2 - (value / Math.max(most, 1)) * (HEIGHT - 4)).toFixed(1);
  const corners = points.flatMap(([atMs, value], index) => [
    `${x(atMs)},${y(value)}`,
    `${x(points[index + 1]?.[0] ?? nowMs)},${y(value)}`,
  ]);
  const text = `${label}: ${values.at(-1) ?? 0} now, ${most} at most in the last 10 minutes`;
  return (
    <svg
      className={`spark ${tone}`}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={text}
      preserveAspectRatio="none"
    >
      <polygon points={`${x(points[0]?.[0] ?? nowMs)},${HEIGHT} ${corners.join(' ')} ${WIDTH},${HEIGHT}`} />
      <polyline points={corners.join(' ')} />
    </svg>
  );
}
