/** Which resources are imported: `--only` and `--exclude` name kinds, or single resources of a kind. */

import { UsageError } from '../failures.ts';
import type { SourceRow } from './source/source-lists.ts';

/** Kinds of resources, in the order of their creation. */
export const KINDS = ['ssh-keys', 'secrets', 'registries', 'volumes', 'templates', 'endpoints', 'pods'] as const;
export type ImportKind = (typeof KINDS)[number];

/** Values of the two options. */
export interface Selection {
  only: readonly string[];
  exclude: readonly string[];
}

/** Returns whether a resource is to be imported. What it needs is not considered. */
export function isSelected(
  { only, exclude }: Selection,
  kind: ImportKind,
  row?: Pick<SourceRow, 'id' | 'name'>,
): boolean {
  return (only.length === 0 || only.some((word) => names(word, kind, row))) && !isExcluded({ exclude }, kind, row);
}

/** Returns whether a resource must not be imported. */
export function isExcluded(
  { exclude }: Pick<Selection, 'exclude'>,
  kind: ImportKind,
  row?: Pick<SourceRow, 'id' | 'name'>,
): boolean {
  return exclude.some((word) => names(word, kind, row));
}

/** Throws UsageError if a word names no kind, or a resource that is not at the source. */
export function checkSelection(
  { only, exclude }: Selection,
  rows: Readonly<Partial<Record<ImportKind, readonly SourceRow[]>>>,
): void {
  for (const word of [...only, ...exclude]) {
    const [kind, name] = parts(word);
    if (!KINDS.some((known) => known === kind))
      throw new UsageError(`${JSON.stringify(word)} names no kind of resource; there are ${KINDS.join(', ')}.`);
    const known = rows[kind as ImportKind];
    if (name !== undefined && known && !known.some((row) => names(word, kind as ImportKind, row)))
      throw new UsageError(`The source has none of ${kind} with the name or id ${JSON.stringify(name)}.`);
  }
}

function names(word: string, kind: ImportKind, row?: Pick<SourceRow, 'id' | 'name'>): boolean {
  const [named, name] = parts(word);
  return named === kind && (name === undefined || name === row?.id || name === row?.name);
}

function parts(word: string): [kind: string, name: string | undefined] {
  const at = word.indexOf('/');
  return at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}
