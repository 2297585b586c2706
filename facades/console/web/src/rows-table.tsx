/** A table that can be sorted, searched and taken along as CSV, over rows that are here already. */
import { useMemo, useState } from 'react';
import type { ReactNode } from 'react';
import { createSortedRowModel, rowSortingFeature, sortFn_alphanumeric, tableFeatures, useTable } from '@tanstack/react-table';
import { moment, span } from './words.ts';

/** A row as the service has it. */
export type Row = Readonly<Record<string, unknown>>;

const FEATURES = tableFeatures({ rowSortingFeature, sortedRowModel: createSortedRowModel(), sortFns: { alphanumeric: sortFn_alphanumeric } });
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

interface RowsTableProps {
  rows: readonly Row[];
  columns: readonly string[];
  /** What the rows are. */
  name: string;
  /** What can be done with one of them. */
  actions?: ((row: Row) => ReactNode) | undefined;
}

/** The table. */
export function RowsTable({ rows, columns, name, actions }: RowsTableProps) {
  const [search, setSearch] = useState('');
  const data = useMemo(() => {
    const wanted = search.trim().toLowerCase();
    return rows.filter((row) => wanted === '' || columns.some((column) => shown(column, row[column]).toLowerCase().includes(wanted)));
  }, [rows, columns, search]);
  const described = useMemo(() => columns.map((column) => ({
    id: column, accessorFn: (row: Row) => (typeof row[column] === 'number' ? row[column] : String(row[column] ?? '')), sortFn: 'alphanumeric' as const,
  })), [columns]);
  const table = useTable({ features: FEATURES, columns: described, data });
  return (
    <>
      <div className="tools">
        <label htmlFor="search">Search</label>
        <input id="search" type="search" value={search} onChange={({ target }) => setSearch(target.value)} />
        <button type="button" onClick={() => save(`${name}.csv`, csvOf(data, columns))}>Take as CSV</button>
      </div>
      <div className="scroll" tabIndex={0} role="region" aria-label={`${name}, scrolls sideways`}>
        <table className="rows">
          <thead>
            <tr>
              {table.getHeaderGroups()[0]!.headers.map(({ id, column }) => {
                const sorted = column.getIsSorted();
                return (
                  <th key={id} aria-sort={sorted === 'asc' ? 'ascending' : sorted === 'desc' ? 'descending' : 'none'}>
                    <button type="button" onClick={() => column.toggleSorting()}>
                      {titleOf(id)}{sorted === 'asc' ? ' ↑' : sorted === 'desc' ? ' ↓' : ''}
                    </button>
                  </th>
                );
              })}
              {actions && <th><span className="spoken">Actions</span></th>}
            </tr>
          </thead>
          <tbody>
            {table.getRowModel().rows.map((row) => (
              <tr key={row.id}>
                {columns.map((column) => <td key={column} className={isId(column) ? 'id' : ''}>{shown(column, row.original[column])}</td>)}
                {actions && <td>{actions(row.original)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function isId(column: string): boolean {
  return /^id$|Id$|^(subject|key|account|belongsTo)$/.test(column);
}

/** `desiredStatus` as a person reads it. */
function titleOf(column: string): string {
  const words = column.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replace(/ ms$/, '').replace(/ in gb$/, ', GB');
  return words === 'id' ? 'Id' : words[0]!.toUpperCase() + words.slice(1);
}

function shown(column: string, value: unknown): string {
  if (value === undefined || value === null || value === '') return '–';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number') return column.endsWith('Ms') ? span(value) : String(value);
  if (typeof value === 'string') return TIME.test(value) ? moment(Date.parse(value)) : value;
  return JSON.stringify(value);
}

/** As RFC 4180 has it; a text that a spreadsheet would take for a formula gets a quote in front. */
function csvOf(rows: readonly Row[], columns: readonly string[]): string {
  const cell = (value: unknown): string => {
    const text = value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);
    return `"${(/^[=+@-]/.test(text) && typeof value === 'string' ? `'${text}` : text).replaceAll('"', '""')}"`;
  };
  return [columns.map(cell), ...rows.map((row) => columns.map((column) => cell(row[column])))].map((line) => line.join(',')).join('\r\n');
}

function save(name: string, text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  link.download = name.toLowerCase().replaceAll(' ', '-');
  link.click();
  URL.revokeObjectURL(link.href);
}
