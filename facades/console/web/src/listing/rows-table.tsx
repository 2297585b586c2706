/** Shows a table of flat rows that the service has searched, ordered and paged. */

import { tableFeatures, useTable } from '@tanstack/react-table';
import type { ReactNode } from 'react';
import { useMemo } from 'react';
import { Link } from 'wouter';
import { moment, span } from '../lib/format.ts';
import { ActionsHead, Badge } from '../ui/parts.tsx';
import { Head } from './listing-parts.tsx';
import type { Listing } from './use-listing.ts';

/** A row as the service sends it. */
export type Row = Readonly<Record<string, unknown>>;

const FEATURES = tableFeatures({});
const TIME = /\d{4}-\d\d-\d\dT[\d:.]+Z/;
/** Column titles that differ from the column's name, with units of the values. */
const TITLES: Readonly<Record<string, string>> = {
  imageName: 'Image or command',
  isServerless: 'Serverless',
  isPublic: 'Public',
  containerDiskInGb: 'Container disk, GB',
  volumeInGb: 'Volume, GB',
  gpuCount: 'GPUs',
  costPerHr: 'Cost, $ an hour',
  lastStatusChange: 'Last change',
  size: 'Size, GB',
  dataCenterId: 'Data centre',
  workers: 'Most workers',
  gpus: 'Most GPUs',
  queuedJobs: 'Most queued jobs',
  requests: 'Most requests in 10\u00A0s',
  gpuWeight: 'GPU weight',
  usdPerHour: 'Price, $ an hour',
};
const NUMBERS = [
  'containerDiskInGb',
  'volumeInGb',
  'gpuCount',
  'costPerHr',
  'size',
  'workers',
  'gpus',
  'queuedJobs',
  'requests',
  'gpuWeight',
  'usdPerHour',
];
/** Columns with lists of words, all of which are shown. */
const WIDE = ['changes', 'endpoints', 'may', 'usedBy', 'problem', 'lastStatusChange', 'description'];

/** Columns with a name and the id beside it. */
const NAMED = ['subject', 'key', 'account'];
/** Columns with a day and a time. */
const WHEN = ['time', 'created', 'revoked', 'began', 'ended', 'valueSet'];

/** Most characters of changes that are shown before they are opened. */
const CHANGES_MAX = 120;

interface RowsTableProps {
  rows: readonly Row[];
  /** Whether the rows belong to the previous selection. */
  isOld: boolean;
  columns: readonly string[];
  /** Accessible name of the table. */
  name: string;
  listing: Listing;
  /** The list's order by column. */
  orders: Readonly<Record<string, string>>;
  /** Path of the pages of single rows, before the id. */
  page?: string | undefined;
  /** Actions for a row. */
  actions?: ((row: Row) => ReactNode) | undefined;
}

/** Shows the table. */
export function RowsTable({ rows, isOld, columns, name, listing, orders, page, actions }: RowsTableProps) {
  const described = useMemo(
    () => columns.map((column) => ({ id: column, accessorFn: (row: Row) => shown(column, row[column]) })),
    [columns],
  );
  const data = useMemo(() => [...rows], [rows]);
  // An open dialog must stay with its row when other rows are added or removed.
  const getRowId = (row: Row, index: number): string => String(row['id'] ?? index);
  const table = useTable({ features: FEATURES, columns: described, data, getRowId });
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label={`${name}, scrolls sideways`} aria-busy={isOld}>
      <table className="rows">
        <thead>
          <tr>
            {table.getHeaderGroups()[0]!.headers.map(({ id }) => (
              <Head key={id} listing={listing} text={titleOf(id)} by={orders[id]} {...headClass(id)} />
            ))}
            {actions && <ActionsHead />}
          </tr>
        </thead>
        <tbody>
          {table.getRowModel().rows.map((row) => (
            <tr key={row.id}>
              {columns.map((column) => (
                <Cell
                  key={column}
                  column={column}
                  text={row.getValue<string>(column)}
                  id={column === 'name' ? String(row.original['id'] ?? '') : ''}
                  to={page !== undefined && column === 'name' ? `${page}/${String(row.original['id'])}` : undefined}
                />
              ))}
              {actions && (
                <td className="acts">
                  <span className="choices">{actions(row.original)}</span>
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function headClass(column: string): { className?: string } {
  if (column === 'id') return { className: 'own-id' };
  return NUMBERS.includes(column) ? { className: 'right' } : {};
}

function cellClass(column: string): string {
  if (column === 'id') return 'id own-id';
  if (NAMED.includes(column)) return 'id wide';
  if (isId(column)) return 'id';
  if (NUMBERS.includes(column)) return 'right number';
  if (WHEN.includes(column)) return 'when';
  if (column === 'changes') return 'wide main';
  return WIDE.includes(column) ? 'wide' : '';
}

/** Shows a cell. `id`: shown below the text where the window is too narrow for a column of ids. */
function Cell({ column, text, id, to }: { column: string; text: string; id: string; to: string | undefined }) {
  const kind = cellClass(column);
  if (column === 'state')
    return (
      <td>
        <Badge word={text} />
      </td>
    );
  if (column === 'changes' && text.length > CHANGES_MAX)
    return (
      <td className={kind}>
        <details>
          <summary>{text.slice(0, CHANGES_MAX)}…</summary>
          {text}
        </details>
      </td>
    );
  const shortened = (
    <span className="text" title={text}>
      {text}
    </span>
  );
  return (
    <td className={kind}>
      {to === undefined ? shortened : <Link href={to}>{shortened}</Link>}
      {id !== '' && <code className="id below">{id}</code>}
    </td>
  );
}

function isId(column: string): boolean {
  return /^id$|Id$|^(subject|key|account|belongsTo)$/.test(column);
}

/** Returns the title of a column: `imageName` becomes text for people. */
function titleOf(column: string): string {
  const words = TITLES[column] ?? column.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words[0]!.toUpperCase() + words.slice(1);
}

function shown(column: string, value: unknown): string {
  if (value === undefined || value === null || value === '') return '–';
  if (typeof value === 'number')
    return column.endsWith('Ms') ? span(value) : value.toLocaleString('en', { maximumFractionDigits: 6 });
  if (typeof value === 'string') return value.replace(TIME, (time) => moment(Date.parse(time)));
  return JSON.stringify(value);
}
