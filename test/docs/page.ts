/** Reads the pages of docs/: headings as anchors, and tables below a heading. */

/** Returns the anchors of a page's headings, as GitHub makes them. */
export function anchorsOf(page: string): Set<string> {
  const text = page.replace(/^```[^]*?^```/gm, '');
  return new Set(
    [...text.matchAll(/^#+ +(.+)$/gm)].map((match) =>
      match[1]!
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .trim()
        .replaceAll(' ', '-'),
    ),
  );
}

/**
 * Rows of the table below a heading whose first row begins with `column`, without that row; cells without blanks and
 * backticks around them.
 */
export function tableOf(page: string, heading: string, column: string): string[][] {
  const section = page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0];
  const rows = section?.split('\n').map((line) =>
    line.startsWith('|')
      ? line
          .slice(1, -1)
          .split('|')
          .map((cell) => cell.trim())
      : undefined,
  );
  const from = rows?.findIndex((cells) => cells?.[0] === column) ?? -1;
  if (!rows || from < 0) throw new Error(`there is no table of ${column} under ${heading}`);
  const end = rows.findIndex((cells, index) => index > from && cells === undefined);
  return rows
    .slice(from + 2, end < 0 ? undefined : end)
    .map((cells) => cells!.map((cell) => cell.replace(/^`(.*)`$/, '$1')));
}

/** Whole numbers of a cell: `10 MiB (10,485,760 bytes)` has 10 and 10485760. */
export function numbersOf(cell: string): number[] {
  return [...cell.matchAll(/\d[\d,]*/g)].map((match) => Number(match[0].replaceAll(',', '')));
}
