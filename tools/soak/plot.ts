/** Draws a line plot as SVG, readable in light and dark. */
import type { Point } from './trend.ts';

/** A line with its name. */
interface Line {
  name: string;
  points: readonly Point[];
}

const WIDTH = 760;
const HEIGHT = 280;
const MARGIN = { top: 34, right: 170, bottom: 36, left: 62 };
const Y_TICKS = 4;
const X_TICKS = 6;
/** Least distance between two names at the right, in pixels. */
const NAME_PX = 14;
/** Points of a line at most; more are joined to their medians. */
const POINTS_MAX = 120;
/** Colours of Okabe and Ito, which colour-blind people can tell apart, without pale ones. */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#e69f00', '#8c6bb1', '#7f7f7f'];
const STYLE = `
text{font:11px system-ui,sans-serif;fill:#333}.title{font-size:13px;font-weight:600}
.grid{stroke:#ddd}.back{fill:#fff}path{fill:none;stroke-width:1.5}
@media(prefers-color-scheme:dark){text{fill:#ccc}.grid{stroke:#3a3a3a}.back{fill:#161616}}`;

/** Returns the plot. The y axis begins at 0 and bears the unit; the x axis is minutes. */
export function plot(title: string, unit: string, lines: readonly Line[]): string {
  const all = lines.flatMap(({ points }) => points);
  const top = niceTop(Math.max(...all.map(({ value }) => value), 0));
  const end = Math.max(...all.map(({ minute }) => minute), 1);
  const [plotWidth, plotHeight] = [WIDTH - MARGIN.left - MARGIN.right, HEIGHT - MARGIN.top - MARGIN.bottom];
  const x = (minute: number): number => MARGIN.left + (minute / end) * plotWidth;
  const y = (value: number): number => MARGIN.top + (1 - value / top) * plotHeight;
  const right = WIDTH - MARGIN.right;
  const rows = Array.from({ length: Y_TICKS + 1 }, (_, n) => (n / Y_TICKS) * top).map(
    (value) =>
      `<path class="grid" d="M${MARGIN.left} ${px(y(value))}H${right}"/>` +
      `<text x="${MARGIN.left - 6}" y="${px(y(value) + 4)}" text-anchor="end">${text(short(value))}</text>`,
  );
  const columns = Array.from({ length: X_TICKS + 1 }, (_, n) => (n / X_TICKS) * end).map(
    (minute) =>
      `<text x="${px(x(minute))}" y="${HEIGHT - MARGIN.bottom + 16}" text-anchor="middle">${short(minute)}</text>`,
  );
  const shown = lines.map((line) => ({ name: line.name, points: joined(line.points) }));
  const steps = (points: readonly Point[]): string =>
    points.map(({ minute, value }, at) => `${at === 0 ? 'M' : 'L'}${px(x(minute))} ${px(y(value))}`).join('');
  const curves = shown.map(({ points }, index) => `<path stroke="${colour(index)}" d="${steps(points)}"/>`);
  const heights = spread(shown.map(({ points }) => y(points.at(-1)?.value ?? 0)));
  const names = shown.map(
    ({ name }, index) =>
      `<text x="${right + 8}" y="${px(heights[index]! + 4)}" style="fill:${colour(index)}">${text(name)}</text>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${text(title)}">`,
    `<style>${STYLE}\n</style><rect class="back" width="${WIDTH}" height="${HEIGHT}"/>`,
    `<text class="title" x="${MARGIN.left}" y="18">${text(`${title}, ${unit}`)}</text>`,
    ...rows,
    ...columns,
    `<text x="${right}" y="${HEIGHT - 6}" text-anchor="end">minutes</text>`,
    ...curves,
    ...names,
    '</svg>\n',
  ].join('\n');
}

/** Returns heights in the same order, moved apart so that the names there do not cover each other. */
function spread(heights: readonly number[]): number[] {
  const moved = [...heights];
  const order = heights.map((_, index) => index).toSorted((left, right) => heights[left]! - heights[right]!);
  for (const [at, index] of order.entries())
    if (at > 0) moved[index] = Math.max(moved[index]!, moved[order[at - 1]!]! + NAME_PX);
  const over = Math.max(0, ...moved.map((height) => height - (HEIGHT - MARGIN.bottom)));
  return moved.map((height) => height - over);
}

/** Joins neighbouring points to their median until there are few. */
function joined(points: readonly Point[]): Point[] {
  const size = Math.ceil(points.length / POINTS_MAX);
  if (size <= 1) return [...points];
  return Array.from({ length: Math.ceil(points.length / size) }, (_, n) => {
    const group = points.slice(n * size, (n + 1) * size).toSorted((left, right) => left.value - right.value);
    const minute = group.reduce((sum, point) => sum + point.minute, 0) / group.length;
    return { minute, value: group[Math.floor(group.length / 2)]!.value };
  });
}

/** Returns the next value of 1, 2, 4, 5, 8 or 10 times a power of ten: four ticks of it are short numbers. */
function niceTop(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-9)));
  return [1, 2, 4, 5, 8, 10].map((factor) => factor * power).find((top) => top >= value) ?? 10 * power;
}

function short(value: number): string {
  if (value >= 1_000) return Math.round(value).toLocaleString('en');
  return String(Number(value.toPrecision(3)));
}

function px(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function colour(index: number): string {
  return COLOURS[index % COLOURS.length]!;
}

function text(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
