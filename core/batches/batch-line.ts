/** Reads the requests of a batch's file: one JSON object a line. */
import type { JsonScan } from '@slipway/kit/bytes/json-scan';
import { scanJson } from '@slipway/kit/bytes/json-scan';
import type { Work } from '@slipway/kit/bytes/sliced-work';
import { CUSTOM_ID_LENGTH_MAX } from '../domain/batches/batch.ts';

/** A request of a file. */
interface BatchLine {
  customId: string;
  model: string;
  body: Buffer;
  /** The model's JSON text within the body. */
  modelText: Buffer;
}

/** A line that is no request. */
interface LineFault {
  code: string;
  message: string;
}

const MEMBERS = ['custom_id', 'method', 'url', 'body'];
/** Longest member that is parsed, in bytes. */
const TEXT_BYTES_MAX = 4_096;
const NEWLINE = 0x0a;
const RETURN = 0x0d;

/** A line with its place in the file. */
export interface FileLine {
  /** From 1. */
  number: number;
  /** Offset in the file in bytes. */
  start: number;
  text: Buffer;
}

/** Reads a line. `route`: the path that all requests must have. */
export function* readLine(text: Buffer, route: string): Work<BatchLine | LineFault> {
  const scan = yield* scanJson(text, MEMBERS);
  if (scan.fault || scan.kind !== 'object')
    return { code: 'invalid_json_line', message: 'This line is not a JSON object.' };
  const customId = textOf(scan, 'custom_id');
  if (customId === undefined || customId === '' || [...customId].length > CUSTOM_ID_LENGTH_MAX)
    return missing('custom_id', `a text of 1 to ${CUSTOM_ID_LENGTH_MAX} characters`);
  if (customId.includes('\0') || !customId.isWellFormed()) return missing('custom_id', 'a text that can be stored');
  if (textOf(scan, 'method') !== 'POST') return missing('method', '"POST"');
  if (textOf(scan, 'url') !== route)
    return {
      code: 'invalid_url',
      message: `url must be ${JSON.stringify(route)}, the endpoint of the batch.`,
    };
  const body = scan.member('body');
  if (body === undefined) return missing('body', 'a JSON object');
  return yield* readBody(customId, body);
}

function* readBody(customId: string, body: Buffer): Work<BatchLine | LineFault> {
  const scan = yield* scanJson(body, ['model', 'stream']);
  if (scan.kind !== 'object') return missing('body', 'a JSON object');
  const modelText = scan.member('model');
  const model = textOf(scan, 'model');
  if (modelText === undefined || model === undefined || model === '')
    return missing('body.model', 'the name of a model');
  if (scan.member('stream')?.toString('latin1') === 'true')
    return { code: 'invalid_request', message: 'body.stream must not be true: a batch has no streams.' };
  return { customId, model, body, modelText };
}

/** Returns the body in pieces, with the name by which workers know the model. Empty: as the line has it. */
export function bodyFor({ body, modelText }: BatchLine, workerModel: string): Buffer[] {
  if (workerModel === '') return [body];
  const start = modelText.byteOffset - body.byteOffset;
  return [body.subarray(0, start), Buffer.from(JSON.stringify(workerModel)), body.subarray(start + modelText.length)];
}

/**
 * Splits a part of a file into lines; blank ones are left out. `isEnd`: the file ends with it. Otherwise what follows
 * the last line end is left for the next part. Returns the bytes that the lines take, and the number of all lines.
 */
export function splitLines(part: Buffer, from: { start: number; number: number }, isEnd: boolean, linesMax: number) {
  const lines: FileLine[] = [];
  let at = 0;
  let { number } = from;
  while (at < part.length && number - from.number < linesMax) {
    const found = part.indexOf(NEWLINE, at);
    if (found < 0 && !isEnd) break;
    const end = found < 0 ? part.length : found;
    number += 1;
    const text = part.subarray(at, end > at && part[end - 1] === RETURN ? end - 1 : end);
    if (text.toString('latin1', 0, 64).trim() !== '' || text.length > 64)
      lines.push({ number, start: from.start + at, text });
    at = end + 1;
  }
  return { lines, bytes: Math.min(at, part.length), number };
}

function textOf(scan: JsonScan, name: string): string | undefined {
  const member = scan.member(name);
  if (member === undefined || member.length > TEXT_BYTES_MAX) return undefined;
  const value: unknown = JSON.parse(member.toString('utf8'));
  return typeof value === 'string' ? value : undefined;
}

function missing(name: string, what: string): LineFault {
  return { code: 'missing_required_parameter', message: `${name} must be ${what}.` };
}
