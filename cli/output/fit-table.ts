/** Shortens the columns of a table until it fits a terminal. */
import { textWidth } from './text-width.ts';

/** A column that is to be fitted. */
interface Sized {
  title: string;
  cells: string[];
  width: number;
  right: boolean;
}

const GAP = 2;
/** A shortened column keeps this width, or its title's. */
const WIDTH_MIN = 8;
/** Titles of columns that are copied as they are. */
const WHOLE = /(^|\b)(ID|JOB|GROUP|KEY|WORKER)$/;
const segmenter = new Intl.Segmenter();

/**
 * Returns the columns in at most `columns` terminal columns. The widest text is shortened first; ids and numbers stay
 * whole. If that is not enough, the last columns are left out, but never the first.
 */
export function fitTable<Column extends Sized>(all: readonly Column[], columns: number): Column[] {
  const least = all.map(({ title, width, right }) =>
    right || WHOLE.test(title) ? width : Math.min(width, Math.max(WIDTH_MIN, textWidth(title))),
  );
  const table = all.slice(0, countThatFits(least, columns));
  const widths = table.map(({ width }) => width);
  const floors = least.slice(0, table.length);
  let excess = widths.reduce((sum, width) => sum + width + GAP, -GAP) - columns;
  while (excess > 0) {
    const open = widths.map((width, index) => (width > floors[index]! ? width : 0));
    const widest = Math.max(...open);
    if (widest <= 0) break;
    const index = open.indexOf(widest);
    const second = Math.max(floors[index]!, ...open.filter((width) => width < widest));
    const cut = Math.min(excess, Math.max(1, widest - second));
    widths[index] = widest - cut;
    excess -= cut;
  }
  return table.map((column, index) => {
    const width = widths[index]!;
    return width === column.width
      ? column
      : { ...column, width, cells: column.cells.map((cell) => shorten(cell, width)) };
  });
}

function countThatFits(widths: readonly number[], columns: number): number {
  let sum = -GAP;
  const tooMany = widths.findIndex((width) => (sum += width + GAP) > columns);
  return tooMany < 0 ? widths.length : Math.max(1, tooMany);
}

/** Returns the beginning of a text that fits, with an ellipsis if something is missing. */
export function shorten(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let shown = '';
  let left = width - 1;
  for (const { segment } of segmenter.segment(text)) {
    left -= textWidth(segment);
    if (left < 0) break;
    shown += segment;
  }
  return `${shown.trimEnd()}…`;
}
