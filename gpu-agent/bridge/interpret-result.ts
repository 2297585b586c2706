/**
 * Interprets a job-done body: the table of docs/reference/worker-protocol.md#results as a pure function. The output is
 * passed on byte for byte.
 */
import { kindAt } from '@slipway/kit/bytes/json-bytes';
import type { JsonScan } from '@slipway/kit/bytes/json-scan';
import { scanJson } from '@slipway/kit/bytes/json-scan';
import type { Work } from '@slipway/kit/bytes/sliced-work';
import { CHUNK_BYTES_MAX, OUTPUT_BYTES_MAX } from '@slipway/proto/wire/limits';
import { cutText } from './split-chunk.ts';

/** A body as it arrived. An oversized body was read to its end and dropped, except for its beginning. */
export type ResultBody = { bytes: Buffer } | { oversizeBytes: number; head: Buffer };

/** Meaning of a job-done body. */
export type Result =
  | { kind: 'progress'; output: Buffer }
  /** A progress value that cannot be shown; the job continues. */
  | { kind: 'ignored'; why: string }
  | { kind: 'completed'; output: Buffer | undefined; refresh: boolean }
  | { kind: 'failed'; output: Buffer | undefined; error: string; refresh: boolean };

/** Longest error in bytes of its JSON text. Longer errors are cut, so that an error always fits into one message. */
export const ERROR_BYTES_MAX = 64 * 1024;
/** Beginning of the SDK's message if it is an error and nothing else. */
const ERROR_BEGINNING = /^\s*\{\s*"error"\s*:\s*(?=")/;
/** Longest meaningful status in bytes of its JSON text, however it is escaped. */
const STATUS_BYTES_MAX = 128;
const NULL = Buffer.from('null');
const TRUE = Buffer.from('true');

/** Reads a result. Never throws: a body that cannot be used makes the job FAILED with a text that says why. */
export function* interpretResult(body: ResultBody): Work<Result> {
  if ('oversizeBytes' in body)
    return failed(oversizeError(body.head, body.oversizeBytes) ?? tooLarge(body.oversizeBytes));
  const scan = yield* scanJson(body.bytes, ['output', 'error', 'status', 'stopPod']);
  const fault = faultOf(scan);
  if (fault !== undefined) return failed(fault);
  const output = scan.member('output');
  const refresh = scan.member('stopPod')?.equals(TRUE) ?? false;
  if (isProgress(scan.member('status'))) return progress(output);
  const isTooLarge = output !== undefined && output.length > OUTPUT_BYTES_MAX;
  const error = scan.member('error');
  if (error && (yield* isNonEmpty(error)))
    return { kind: 'failed', output: isTooLarge ? undefined : output, error: errorText(error), refresh };
  if (isTooLarge) return { ...failed(tooLarge(output.length)), refresh };
  return { kind: 'completed', output, refresh };
}

/** Reads a job-stream body. Returns the yielded value and its metrics, or why it cannot be used. */
export function* interpretChunk(
  body: ResultBody,
): Work<{ output: Buffer; metrics: Buffer | undefined } | { why: string }> {
  if ('oversizeBytes' in body) return { why: tooLarge(body.oversizeBytes) };
  const scan = yield* scanJson(body.bytes, ['output', 'metrics']);
  const why = faultOf(scan);
  if (why !== undefined) return { why };
  const metrics = scan.member('metrics');
  return {
    output: scan.member('output') ?? NULL,
    metrics: metrics && kindAt(metrics, 0) === 'object' ? metrics : undefined,
  };
}

function progress(output: Buffer | undefined): Result {
  if (output && output.length > CHUNK_BYTES_MAX) {
    return {
      kind: 'ignored',
      why: `A progress value of ${output.length} bytes is over the limit of ${CHUNK_BYTES_MAX}.`,
    };
  }
  return { kind: 'progress', output: output ?? NULL };
}

function failed(error: string): Result & { kind: 'failed' } {
  return { kind: 'failed', output: undefined, error, refresh: false };
}

function tooLarge(bytes: number): string {
  return `The handler returned ${bytes} bytes; the output of a job may have at most ${OUTPUT_BYTES_MAX} bytes.`;
}

function faultOf({ fault, kind }: JsonScan): string | undefined {
  if (fault?.kind === 'utf8') return 'The handler returned a result that is not valid UTF-8.';
  if (fault)
    return `The handler returned a result that is not valid JSON (NaN and Infinity are not): see byte ${fault.at}.`;
  return kind === 'object' ? undefined : 'The worker sent a result that is not a JSON object.';
}

function isProgress(status: Buffer | undefined): boolean {
  return status !== undefined && status.length <= STATUS_BYTES_MAX && JSON.parse(status.toString()) === 'IN_PROGRESS';
}

/** Returns false for an error that Python treats as false: it counts as "no error". */
function* isNonEmpty(error: Buffer): Work<boolean> {
  const kind = kindAt(error, 0);
  if (kind === 'object' || kind === 'array') return (yield* scanJson(error)).items > 0;
  return error.length > ERROR_BYTES_MAX || Boolean(JSON.parse(error.toString()));
}

/**
 * Returns the beginning of an error that was dropped as oversized; `undefined` if it was no error, or something else
 * came first.
 */
function oversizeError(head: Buffer, bytes: number): string | undefined {
  const [beginning] = ERROR_BEGINNING.exec(head.toString('latin1', 0, 64)) ?? [];
  if (beginning === undefined) return undefined;
  const text = cutText(Buffer.concat([head.subarray(beginning.length), Buffer.from('"')]), ERROR_BYTES_MAX);
  try {
    return `${(JSON.parse(text.toString()) as string).replaceAll('\0', '\uFFFD')} … [cut from ${bytes} bytes]`;
  } catch {
    // It is not valid JSON.
    return undefined;
  }
}

function errorText(error: Buffer): string {
  const isCut = error.length > ERROR_BYTES_MAX;
  const isText = kindAt(error, 0) === 'string';
  let whole = error;
  if (isCut) whole = isText ? cutText(error, ERROR_BYTES_MAX) : error.subarray(0, ERROR_BYTES_MAX);
  // NUL cannot be stored as text.
  const text = (isText ? (JSON.parse(whole.toString()) as string) : whole.toString()).replaceAll('\0', '\uFFFD');
  return isCut ? `${text} … [cut from ${error.length} bytes]` : text;
}
