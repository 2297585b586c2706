/** Formats tables for people: columns as wide as their content, separated by two blanks, without lines. */
import { printable } from '@slipway/kit/log/printable';
import { fitTable } from './fit-table.ts';
import { textWidth } from './text-width.ts';

/** A column of a table. */
export interface Column<Row> {
  title: string;
  /** Its text; control characters are made visible. */
  text(row: Row): string;
  /** Whether the column is right-aligned, as for numbers. Default: false. */
  right?: boolean;
}

/** A field of a record. `undefined` values are left out. */
export type Field = readonly [name: string, value: string | number | undefined];

/**
 * Returns the lines of a table, its head first. A column without any text is left out. `terminalColumns`: width that
 * the table has to fit; default: none. A last line names the columns that have no room in it.
 */
export function renderTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  terminalColumns = Infinity,
): string[] {
  const whole = columns
    .map(({ title, text, right = false }) => ({ title, right, cells: rows.map((row) => printable(text(row))) }))
    .filter(({ cells }) => cells.some((cell) => cell !== ''))
    .map((column) => ({
      ...column,
      width: Math.max(...[column.title, ...column.cells].map((text) => textWidth(text))),
    }));
  const filled = terminalColumns === Infinity ? whole : fitTable(whole, terminalColumns);
  const line = (cell: (column: (typeof filled)[number]) => string): string =>
    filled
      .map((column) => {
        const text = cell(column);
        const gap = ' '.repeat(column.width - textWidth(text));
        return column.right ? gap + text : text + gap;
      })
      .join('  ')
      .trimEnd();
  const missing = whole.slice(filled.length).map(({ title }) => title);
  return [
    line(({ title }) => title),
    ...rows.map((_, index) => line(({ cells }) => cells[index]!)),
    ...(missing.length === 0 ? [] : [`No room for ${missing.join(', ')}: --wide`]),
  ];
}

/** Returns the fields, with names padded to the same width. */
export function renderFields(fields: readonly Field[]): { name: string; value: string }[] {
  const known = fields.filter(([, value]) => value !== undefined && value !== '');
  const widest = Math.max(0, ...known.map(([name]) => textWidth(name)));
  const indent = `\n${' '.repeat(widest + 2)}`;
  return known.map(([name, value]) => ({
    name: name.padEnd(widest),
    value: printable(String(value), '\n').trimEnd().replaceAll('\n', indent),
  }));
}
