/**
 * Finds the one answer in a job's output: workers that aggregate their stream return a list of one element
 * (docs/reference/api.md#openai).
 */
import { scanJson } from '@slipway/kit/bytes/json-scan';
import type { Work } from '@slipway/kit/bytes/sliced-work';

/** The element of a list of one, byte for byte; anything else as it is; undefined when there is nothing in it. */
export function* unwrapOutput(output: Buffer | undefined): Work<Buffer | undefined> {
  if (output === undefined) return undefined;
  const { fault, kind, items, firstItem } = yield* scanJson(output);
  if (fault) return undefined;
  if (kind === 'array') return items > 1 ? output : firstItem;
  return output.length < NULL_BYTES_MAX && output.toString().trim() === 'null' ? undefined : output;
}

/** Nobody writes more blanks around `null`. */
const NULL_BYTES_MAX = 64;
