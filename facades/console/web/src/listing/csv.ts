/** Rows as a file for spreadsheets. */

/** Returns CSV as in RFC 4180. A text that a spreadsheet would read as a formula gets a quote in front. */
function csvOf(rows: readonly Readonly<Record<string, unknown>>[], columns: readonly string[]): string {
  const cell = (value: unknown): string => {
    const text = typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '');
    const isFormula = typeof value === 'string' && /^[\t\r\n]|^\s*[=+@-]/.test(text);
    return `"${(isFormula ? `'${text}` : text).replaceAll('"', '""')}"`;
  };
  return [columns.map(cell), ...rows.map((row) => columns.map((column) => cell(row[column])))]
    .map((line) => line.join(','))
    .join('\r\n');
}

/** Saves the rows as a file in the browser. */
export function saveCsv(
  name: string,
  rows: readonly Readonly<Record<string, unknown>>[],
  columns: readonly string[],
): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([csvOf(rows, columns)], { type: 'text/csv' }));
  link.download = `${name.toLowerCase().replaceAll(' ', '-')}.csv`;
  link.click();
  URL.revokeObjectURL(link.href);
}
