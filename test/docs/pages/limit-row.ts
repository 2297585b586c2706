/** A row of docs/reference/limits.md. */

/** A row. */
export interface Limit {
  limit: string;
  value: string;
  /** Files that hold the constants. */
  files: readonly string[];
}

export const WIRE = 'proto/wire/limits.ts';

export function row(limit: string, value: string, ...files: string[]): Limit {
  return { limit, value, files };
}
