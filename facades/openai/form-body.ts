/** Reads forms (multipart/form-data, RFC 7578), which OpenAI libraries send for files. */
import { CoreError } from '@slipway/proto/wire/reason';

/** One field of a form. */
export interface FormField {
  name: string;
  /** Name of the file. `undefined` if it is a text. */
  filename: string | undefined;
  contentType: string | undefined;
  /** View of the bytes within the body. */
  value: Buffer;
}

/** Most fields of a form, and longest head of a field in bytes. */
const FIELDS_MAX = 100;
const HEAD_BYTES_MAX = 4_096;
const LINE_END = Buffer.from('\r\n');
const HEAD_END = Buffer.from('\r\n\r\n');
/** A quoted value is matched whole: what looks like a parameter within it is none. */
const PARAMETER = /;\s*([^\s=;"]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/g;
/** Longest boundary in characters. RFC 2046 allows 70; some clients use more. */
const BOUNDARY_MAX = 200;

/** Returns the fields in order. Throws INVALID_REQUEST with the fault. */
export function readForm(contentType: string, body: Buffer): FormField[] {
  const mark = Buffer.from(`\r\n--${boundaryOf(contentType)}`, 'latin1');
  const fields: FormField[] = [];
  // The first boundary may stand at the very beginning, without a line end before it.
  const first = body.indexOf(mark.subarray(LINE_END.length));
  if (first < 0) throw formFault('its boundary is not in the body');
  let at = first + mark.length - LINE_END.length;
  while (!isLast(body, at)) {
    if (fields.length === FIELDS_MAX) throw formFault(`it has more than ${FIELDS_MAX} fields`);
    const start = body.indexOf(LINE_END, at);
    const headEnd = start < 0 ? -1 : body.indexOf(HEAD_END, start);
    if (headEnd < 0 || headEnd - start > HEAD_BYTES_MAX) throw formFault('a field has no end of its headers');
    const end = body.indexOf(mark, headEnd + LINE_END.length);
    if (end < 0) throw formFault('its last boundary is missing');
    const valueStart = headEnd + HEAD_END.length;
    fields.push(fieldOf(body.toString('utf8', start, headEnd), body.subarray(Math.min(valueStart, end), end)));
    at = end + mark.length;
  }
  return fields;
}

/** Returns the boundary of a form. Throws INVALID_REQUEST if its content type names none. */
export function boundaryOf(contentType: string): string {
  for (const [, name, quoted, plain] of contentType.matchAll(PARAMETER)) {
    if (name!.toLowerCase() !== 'boundary') continue;
    const boundary = quoted?.replaceAll(/\\(.)/g, '$1') ?? plain!;
    if (boundary.length > BOUNDARY_MAX) throw formFault(`its boundary has more than ${BOUNDARY_MAX} characters`);
    if (boundary !== '') return boundary;
  }
  throw formFault('its content type names no boundary');
}

/** Returns what the head of a field says. Throws INVALID_REQUEST if it names no field. */
export function partHead(head: string): Pick<FormField, 'name' | 'filename'> {
  const disposition = /\r\ncontent-disposition:([^\r]*)/i.exec(head)?.[1] ?? '';
  const parameters = parametersOf(disposition);
  const name = parameters.get('name');
  if (name === undefined) throw formFault('a field has no name');
  return { name, filename: parameters.get('filename') ?? decoded(parameters.get('filename*')) };
}

/** Returns whether the boundary that ends at `at` is the last one. */
function isLast(body: Buffer, at: number): boolean {
  return body.toString('latin1', at, at + 2) === '--';
}

function fieldOf(head: string, value: Buffer): FormField {
  return {
    ...partHead(head),
    contentType: /\r\ncontent-type:\s*([^\r]*)/i.exec(head)?.[1]?.trim(),
    value,
  };
}

/**
 * Returns the parameters; of several with one name the first. Clients escape quotes as browsers do (%22) or with a
 * backslash.
 */
function parametersOf(disposition: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [, name, quoted, plain] of disposition.matchAll(PARAMETER)) {
    const value = quoted === undefined ? plain! : quoted.replaceAll(/\\(["\\])/g, '$1').replaceAll('%22', '"');
    if (!found.has(name!.toLowerCase())) found.set(name!.toLowerCase(), value);
  }
  return found;
}

/** Returns a name in the form of RFC 8187, `UTF-8''%e2%82%ac.wav`. `undefined` if there is none. */
function decoded(extended: string | undefined): string | undefined {
  if (extended === undefined) return undefined;
  const text = extended.slice(extended.lastIndexOf("'") + 1);
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns the error for a form that cannot be read. */
export function formFault(what: string): CoreError {
  return new CoreError('INVALID_REQUEST', `The form (multipart/form-data) cannot be read: ${what}.`);
}
