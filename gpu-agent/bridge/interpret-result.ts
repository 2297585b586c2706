/** What a job-done body means: the table of compat.md 2.6.2 as one pure function. The output travels on byte for byte. */
import { isUtf8 } from 'node:buffer';
import { rawMember, scanRawObject } from '../../core/runtime/raw-json.ts';
import { CHUNK_BYTES_MAX, OUTPUT_BYTES_MAX } from '../../proto/wire/limits.ts';

/** A body as it arrived; an oversized one was read to its end and dropped. */
export type ResultBody = { bytes: Buffer } | { oversizeBytes: number };

/** What it means. */
export type Result =
  | { kind: 'progress'; output: Buffer }
  /** A progress value that cannot be shown; the job goes on. */
  | { kind: 'ignored'; why: string }
  | { kind: 'completed'; output: Buffer | undefined; refresh: boolean }
  | { kind: 'failed'; output: Buffer | undefined; error: string; refresh: boolean };

/** Longest error text in characters. Longer ones are cut, so that an error always fits into one message. */
const ERROR_LENGTH_MAX = 64 * 1024;
const NULL = Buffer.from('null');

/** Reads a result. Never throws: whatever cannot be used makes the job FAILED with a text that says why. */
export function interpretResult(body: ResultBody): Result {
  if ('oversizeBytes' in body) return failed(tooLarge(body.oversizeBytes));
  const text = body.bytes;
  const parsed = parseObject(text);
  if (typeof parsed === 'string') return failed(parsed);
  const scan = scanRawObject(text);
  const output = rawMember(text, scan, 'output');
  const refresh = parsed.stopPod === true;
  if (parsed.status === 'IN_PROGRESS') return progress(output);
  if (output && output.length > OUTPUT_BYTES_MAX) return { ...failed(tooLarge(output.length)), refresh };
  if (isNonEmpty(parsed.error)) {
    return { kind: 'failed', output, error: errorText(parsed.error, rawMember(text, scan, 'error')), refresh };
  }
  return { kind: 'completed', output, refresh };
}

/** Reads a job-stream body: the yielded value and its metrics, or why it cannot be used. */
export function interpretChunk(body: ResultBody): { output: Buffer; metrics: Buffer | undefined } | { why: string } {
  if ('oversizeBytes' in body) return { why: tooLarge(body.oversizeBytes) };
  const parsed = parseObject(body.bytes);
  if (typeof parsed === 'string') return { why: parsed };
  const scan = scanRawObject(body.bytes);
  const isObject = typeof parsed.metrics === 'object' && parsed.metrics !== null && !Array.isArray(parsed.metrics);
  return {
    output: rawMember(body.bytes, scan, 'output') ?? NULL,
    metrics: isObject ? rawMember(body.bytes, scan, 'metrics') : undefined,
  };
}

function progress(output: Buffer | undefined): Result {
  if (output && output.length > CHUNK_BYTES_MAX) {
    return { kind: 'ignored', why: `A progress value of ${output.length} bytes is over the limit of ${CHUNK_BYTES_MAX}.` };
  }
  return { kind: 'progress', output: output ?? NULL };
}

function failed(error: string): Result & { kind: 'failed' } {
  return { kind: 'failed', output: undefined, error, refresh: false };
}

function tooLarge(bytes: number): string {
  return `The handler returned ${bytes} bytes; the output of a job may have at most ${OUTPUT_BYTES_MAX} bytes.`;
}

function parseObject(text: Buffer): Record<string, unknown> | string {
  if (!isUtf8(text)) return 'The handler returned a result that is not valid UTF-8.';
  try {
    const value: unknown = JSON.parse(text.toString());
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
    return 'The worker sent a result that is not a JSON object.';
  } catch (error) {
    return `The handler returned a result that is not valid JSON (NaN and Infinity are not): ${(error as Error).message}`;
  }
}

// What Python takes for false counts as "no error".
function isNonEmpty(error: unknown): boolean {
  if (typeof error === 'object' && error !== null) return Object.keys(error).length > 0;
  return Boolean(error);
}

function errorText(error: unknown, raw: Buffer | undefined): string {
  // NUL cannot be stored as text.
  const text = (typeof error === 'string' ? error : String(raw ?? JSON.stringify(error))).replaceAll('\0', '\uFFFD');
  return text.length <= ERROR_LENGTH_MAX ? text : `${text.slice(0, ERROR_LENGTH_MAX)} … [cut from ${text.length} characters]`;
}
