/**
 * Converts a job that did not complete to the error that an OpenAI client gets. Workers report errors in several
 * shapes. If one of them contains an OpenAI-style object with an HTTP code, the response has that code
 * (docs/reference/api.md#openai).
 */
import { kindAt } from '../bytes/json-bytes.ts';
import { scanJson } from '../bytes/json-scan.ts';
import type { Work } from '../bytes/sliced-work.ts';
import { workNow } from '../bytes/sliced-work.ts';
import type { ErrorCode } from '../net/error-help.ts';
import { openaiErrorType } from './error-type.ts';
import { parsePythonLiteral } from './python-literal.ts';

/** An error response with a 4xx or 5xx status. */
export interface OpenaiError {
  /** HTTP status. */
  status: number;
  /** Inner object of the envelope. */
  error: { message: string; type: string; param: unknown; code: unknown };
}

/** Depth to which an error object is searched: job error text, SDK wrapper, OpenAI envelope. */
const DEPTH_MAX = 4;

/** Longest text that is parsed, in characters. No error needs more, and parsing it would delay other requests. */
const TEXT_LENGTH_MAX = 128 * 1024;

/** Text that the SDK writes around the message of an exception that a generator raised. */
const RAISED_HEAD = 'handler: ';
const RAISED_TAIL = ' \ntraceback: ';
/** Prefix that the `openai` package for Python writes before the body of an error response. */
const CODE_HEAD = /^Error code: \d{3} - /;
/** Members of an output that decide whether it is an error, and which one. */
const MEMBERS = [
  'object',
  'choices',
  'error',
  'error_message',
  'message',
  'detail',
  'code',
  'status',
  'status_code',
  'type',
  'param',
];
/** Longest member in bytes that is searched. */
const MEMBER_BYTES_MAX = 16 * 1024;
const LONG_TEXT = 'The worker reported an error that is too long to be shown here.';
/** Most values of an error text that is parsed. */
const TEXT_VALUES_MAX = 1_000;

/**
 * Returns the members of an output that `outputError` needs, however large the output is. `undefined` if it is no
 * object.
 */
export function* errorMembers(json: Buffer): Work<Record<string, unknown> | undefined> {
  const scan = yield* scanJson(json, MEMBERS);
  if (scan.fault || scan.kind !== 'object') return undefined;
  const found: Record<string, unknown> = {};
  for (const name of MEMBERS) {
    const text = scan.member(name);
    if (text === undefined) continue;
    if (text.length <= MEMBER_BYTES_MAX) found[name] = JSON.parse(text.toString('utf8'));
    else found[name] = kindAt(text, 0) === 'string' ? LONG_TEXT : {};
  }
  return found;
}

/** Returns the error of a job in a final state other than COMPLETED: the name of the state. */
export function jobError(state: string, errorText: string | undefined): OpenaiError {
  if (state === 'CANCELLED') return plain(500, 'The job was cancelled.', 'job_cancelled');
  if (state === 'TIMED_OUT')
    return plain(500, errorText ?? 'The job ran longer than its execution timeout.', 'job_timed_out');
  const text = errorText && withoutTrace(errorText);
  return findError(parsed(text)) ?? plain(500, messageOf(text), 'job_failed');
}

/** Returns the error inside an output or chunk that looks like a success. `undefined` if there is none. */
export function outputError(value: unknown): OpenaiError | undefined {
  if (!isPlainObject(value)) return undefined;
  const named = value['error'] !== undefined && value['error'] !== null && value['choices'] === undefined;
  if (value['object'] !== 'error' && !named) return undefined;
  const text =
    textOf(value['error']) ??
    textOf(value['message']) ??
    innerMessage(value['error']) ??
    'The worker reported an error.';
  return findError(value) ?? plain(500, text, 'job_failed');
}

function innerMessage(error: unknown): string | undefined {
  return isPlainObject(error) ? textOf(error['message']) : undefined;
}

function plain(status: number, message: string, code: ErrorCode): OpenaiError {
  return { status, error: { message, type: openaiErrorType(status), param: null, code } };
}

/** Searches for an object with a message and an HTTP code, through the wrappers of SDKs. */
function findError(value: unknown, depth = 0): OpenaiError | undefined {
  if (!isPlainObject(value) || depth > DEPTH_MAX) return undefined;
  const inner = ['error', 'error_message', 'message', 'detail']
    .map((name) => findError(parsed(value[name]), depth + 1))
    .find((found) => found !== undefined);
  return inner ?? ownError(value);
}

function ownError(value: Record<string, unknown>): OpenaiError | undefined {
  const message = textOf(value['message']) ?? textOf(value['error']);
  const status = httpStatus(value['code']) ?? httpStatus(value['status']) ?? httpStatus(value['status_code']);
  if (message === undefined || status === undefined) return undefined;
  const type = textOf(value['type']) ?? openaiErrorType(status);
  return { status, error: { message, type, param: value['param'] ?? null, code: value['code'] ?? status } };
}

/** Returns the readable part of a worker's error text. SDK exceptions are a JSON document with `error_message`. */
function messageOf(errorText: string | undefined): string {
  const value = parsed(errorText);
  const texts = isPlainObject(value)
    ? [value['error_message'], value['message'], value['error'], innerMessage(value['error'])]
    : [];
  return texts.map(textOf).find((text) => text !== undefined) ?? errorText ?? 'The worker failed without saying why.';
}

/** Returns the object that a text contains as JSON or as a Python literal. Returns any other value unchanged. */
function parsed(value: unknown): unknown {
  if (typeof value !== 'string' || value.length > TEXT_LENGTH_MAX) return value;
  const text = value.replace(CODE_HEAD, '').trim();
  if (!text.startsWith('{')) return value;
  if (text.length > MEMBER_BYTES_MAX && workNow(scanJson(Buffer.from(text))).values > TEXT_VALUES_MAX) return value;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return parsePythonLiteral(text) ?? value;
  }
}

/**
 * Removes the traceback. It is for the handler's author, who has the job's error; the client gets the exception's text.
 */
function withoutTrace(errorText: string): string {
  if (!errorText.startsWith(RAISED_HEAD)) return errorText;
  const end = errorText.lastIndexOf(RAISED_TAIL);
  return end === -1 ? errorText : errorText.slice(RAISED_HEAD.length, end);
}

function httpStatus(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
  return Number.isInteger(number) && (number as number) >= 400 && (number as number) <= 599
    ? (number as number)
    : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
