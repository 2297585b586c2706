/** A small line of the last minutes: no axes, a sentence for those who do not see it. */

const WIDTH = 120;
const HEIGHT = 28;

/** `values` from old to new. */
export function Sparkline({ values, label, tone = 'queue' }: { values: readonly number[]; label: string; tone?: string }) {
  const shown = values.length < 2 ? [values[0] ?? 0, values[0] ?? 0] : values;
  const most = Math.max(1, ...shown);
  const points = shown.map((value, index) => `${(index / (shown.length - 1) * WIDTH).toFixed(1)},${(HEIGHT - 2 - value / most * (HEIGHT - 4)).toFixed(1)}`);
  const told = `${label}: ${shown.at(-1) ?? 0} now, ${Math.max(...shown)} at most`;
  return (
    <svg className={`spark ${tone}`} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={told} preserveAspectRatio="none">
      <polygon points={`0,${HEIGHT} ${points.join(' ')} ${WIDTH},${HEIGHT}`} />
      <polyline points={points.join(' ')} />
    </svg>
  );
}
