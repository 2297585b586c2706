/** Finds the one answer in a job's output: workers that aggregate their stream return a list of one element (compat.md 1.10). */

/** The element of a list of one, byte for byte; anything else as it is; undefined when there is nothing in it. */
export function unwrapOutput(output: Buffer | undefined): Buffer | undefined {
  if (output === undefined || output.length === 0) return undefined;
  const value = parsed(output);
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) return output;
  if (value.length === 0) return undefined;
  return value.length === 1 ? inside(output) : output;
}

function parsed(output: Buffer): unknown {
  try {
    return JSON.parse(output.toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}

/** What stands between the outer brackets, which are the first and the last byte that is not blank. */
function inside(list: Buffer): Buffer {
  return Buffer.from(list.subarray(list.indexOf('[') + 1, list.lastIndexOf(']')).toString('utf8').trim());
}
