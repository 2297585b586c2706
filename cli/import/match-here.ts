/** Finds the resources of the source that the account has here already, by their id or their name. */
import type { SourceRow } from './source/source-lists.ts';

interface Known {
  id: string;
  name: string;
}

/**
 * Returns the resources here by the ids of the source. An id that was kept decides; otherwise the name does, one for
 * one where several have the same name. `isSame` may reject a match by name.
 */
export function matchHere<Here extends Known>(
  rows: readonly SourceRow[],
  here: readonly Here[],
  isSame: (row: SourceRow, known: Here) => boolean = () => true,
): Map<string, Here> {
  const byId = new Map(here.map((known) => [known.id, known]));
  const matched = new Map(rows.flatMap((row) => (byId.has(row.id) ? [[row.id, byId.get(row.id)!]] : [])));
  const free = new Set(here.filter(({ id }) => ![...matched.values()].some((known) => known.id === id)));
  for (const row of rows) {
    if (matched.has(row.id)) continue;
    const found = [...free].find((known) => known.name === row.name && isSame(row, known));
    if (!found) continue;
    matched.set(row.id, found);
    free.delete(found);
  }
  return matched;
}
