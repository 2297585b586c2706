/** Taking a list along as a file: all that fits, not only the page that is shown. */
import { useState } from 'react';
import type { ListView } from '../../../views.ts';
import { ask } from '../lib/api.ts';
import { saveCsv } from './csv.ts';
import type { Row } from './rows-table.tsx';

/** Rows of a page that is taken along, and the most pages. */
const TAKEN_ROWS = 1_000;
const TAKEN_PAGES_MAX = 20;

/** Shows the button. `query`: search and order of a list at `path`. */
export function DownloadCsv({
  title,
  path,
  columns,
  query,
}: {
  title: string;
  path: string;
  columns: readonly string[];
  query: string;
}) {
  const [failure, setFailure] = useState('');
  const take = async (): Promise<void> => {
    const rows: Row[] = [];
    const asked = new URLSearchParams(query);
    asked.set('size', String(TAKEN_ROWS));
    asked.set('page', '');
    for (let page = 0; page < TAKEN_PAGES_MAX; page += 1) {
      const answer = await ask<ListView>('GET', `${path}?${asked}`);
      rows.push(...answer.rows);
      if (answer.next === '') break;
      asked.set('page', answer.next);
    }
    saveCsv(title, rows, columns);
  };
  return (
    <>
      <button
        type="button"
        onClick={() => {
          take().then(
            () => setFailure(''),
            (error: Error) => setFailure(error.message),
          );
        }}
      >
        Download CSV
      </button>
      {failure !== '' && (
        <span role="alert" className="failure">
          {failure}
        </span>
      )}
    </>
  );
}
