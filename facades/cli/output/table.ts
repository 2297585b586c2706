/** Tables for people: columns as wide as what is in them, two blanks between, nothing drawn. */
import { printable } from './printable.ts';

/** A column. */
export interface Column<Row> {
  title: string;
  /** Its text; control characters are made visible. */
  text(row: Row): string;
  /** Numbers stand at the right. Default false. */
  right?: boolean;
}

/** A field of one thing; undefined values are left out. */
export type Field = readonly [name: string, value: string | number | undefined];

/** The lines of a table, its head first. A column without any text is left out. */
export function renderTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string[] {
  const filled = columns
    .map(({ title, text, right = false }) => ({ title, right, cells: rows.map((row) => printable(text(row))) }))
    .filter(({ cells }) => cells.some((cell) => cell !== ''))
    .map((column) => ({ ...column, width: Math.max(width(column.title), ...column.cells.map(width)) }));
  const line = (cell: (column: (typeof filled)[number]) => string): string => filled.map((column) => {
    const text = cell(column);
    const gap = ' '.repeat(column.width - width(text));
    return column.right ? gap + text : text + gap;
  }).join('  ').trimEnd();
  return [line(({ title }) => title), ...rows.map((_, index) => line(({ cells }) => cells[index]!))];
}

/** The fields with their names at equal width. */
export function renderFields(fields: readonly Field[]): { name: string; value: string }[] {
  const known = fields.filter(([, value]) => value !== undefined && value !== '');
  const widest = Math.max(0, ...known.map(([name]) => width(name)));
  const indent = `\n${' '.repeat(widest + 2)}`;
  return known.map(([name, value]) => ({
    name: name.padEnd(widest),
    value: printable(String(value), '\n').trimEnd().replaceAll('\n', indent),
  }));
}

/** Scripts and pictures that terminals show two columns wide. */
const WIDE = new RegExp(
  '[\\u1100-\\u115f\\u2e80-\\u303e\\u3041-\\ua4cf\\uac00-\\ud7a3\\uf900-\\ufaff\\ufe30-\\ufe6f\\uff00-\\uff60\\uffe0-\\uffe6'
  + '\\u{1f300}-\\u{1faff}\\u{20000}-\\u{3fffd}]', 'u',
);
const SEGMENTER = new Intl.Segmenter();

/** Columns of a terminal that a text takes. */
function width(text: string): number {
  // Plain text, which is nearly all, is as wide as it is long.
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  return [...SEGMENTER.segment(text)].reduce((sum, { segment }) => sum + (WIDE.test(segment) ? 2 : 1), 0);
}
