/**
 * Finds the single response in a job's output: workers that aggregate their stream return a list of one element
 * (docs/reference/api.md#openai).
 */
import { scanJson } from '../bytes/json-scan.ts';
import type { Work } from '../bytes/sliced-work.ts';

/**
 * Returns the element of a list of one, byte for byte. Returns any other output unchanged, and `undefined` if it is
 * empty.
 */
export function* unwrapOutput(output: Buffer | undefined): Work<Buffer | undefined> {
  if (output === undefined) return undefined;
  const { fault, kind, items, firstItem } = yield* scanJson(output);
  if (fault) return undefined;
  if (kind === 'array') return items > 1 ? output : firstItem;
  return output.length < NULL_BYTES_MAX && output.toString().trim() === 'null' ? undefined : output;
}

/** Clients do not write more blanks around `null`. */
const NULL_BYTES_MAX = 64;
