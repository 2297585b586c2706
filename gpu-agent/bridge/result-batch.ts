/**
 * Several results in one body (docs/reference/worker-protocol.md#results-in-one-request). Each has a line with the
 * job's id, whether its handler was a generator, and the length of the result; then follows the result as it would be
 * alone. Only the lines and lengths are read, so this costs no time per byte.
 */

/** One result of a batch. */
interface BatchedResult {
  jobId: string;
  isStream: boolean;
  /** The body of an equivalent job-done request. */
  body: Buffer;
}

/** Most results in one request; a worker cannot hold more jobs. */
const RESULTS_MAX = 1_000;
/** Longest line in bytes: an id has at most 512 characters. */
const LINE_BYTES_MAX = 600;
const LINE = /^(\S{1,512}) ([01]) (\d{1,9})$/;
const NEW_LINE = 0x0a;

/** Reads a body; `undefined` if it is malformed. The results are views of the same memory. */
export function readResultBatch(bytes: Buffer): BatchedResult[] | undefined {
  const results: BatchedResult[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.subarray(at, at + LINE_BYTES_MAX).indexOf(NEW_LINE);
    const [, jobId, stream, length] = (end < 0 ? undefined : LINE.exec(bytes.toString('latin1', at, at + end))) ?? [];
    if (jobId === undefined || results.length === RESULTS_MAX) return undefined;
    const from = at + end + 1;
    at = from + Number(length) + 1;
    if (at > bytes.length || bytes[at - 1] !== NEW_LINE) return undefined;
    results.push({ jobId, isStream: stream === '1', body: bytes.subarray(from, at - 1) });
  }
  return results;
}
