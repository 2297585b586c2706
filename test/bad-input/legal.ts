/** Valid requests that look invalid: POST /v2/{endpoint}/run answers 200 and keeps the input byte for byte. */

/** One strange request. */
export interface LegalRequest {
  name: string;
  /** Input that the handler must receive. */
  input: string;
  body: string;
  headers?: Record<string, string>;
}

const wrapped = (name: string, input: string): LegalRequest => ({ name, input, body: `{"input":${input}}` });
const EMPTY = '{"input":{}}';

export const LEGAL: LegalRequest[] = [
  wrapped('empty input', '{}'),
  wrapped('NUL as an escape', '{"a":"\\u0000"}'),
  wrapped('lone surrogates as escapes', '{"a":"\\ud800 \\udfff \\udc00\\ud800"}'),
  wrapped('a pair of surrogates as escapes', '{"a":"\\ud83d\\ude00"}'),
  wrapped('letters of all planes', '{"é":"€ 😀 \u{10ffff}"}'),
  wrapped('control characters as escapes', '{"a":"\\b\\f\\n\\r\\t\\u001f\\u007f"}'),
  wrapped('numbers beyond 64 bits', '{"a":123456789012345678901234567890,"b":1e400,"c":-0.0,"d":1E+2}'),
  wrapped('blanks inside', '{ "a" :\r\n\t[ ]\n}'),
  wrapped('a name twice', '{"a":1,"a":2}'),
  wrapped('special names', '{"__proto__":{"x":1},"constructor":1,"toString":2,"":3}'),
  wrapped('nested 256 deep', `${'{"a":'.repeat(255)}{}${'}'.repeat(255)}`),
  wrapped('nested 256 deep with arrays', `{"a":${'['.repeat(255)}${']'.repeat(255)}}`),
  wrapped('text that looks like the end', '{"a":"\\"}}","b":"\\\\"}'),
  wrapped('100,000 members', `{${Array.from({ length: 100_000 }, (_, n) => `"k${n}":${n}`).join(',')}}`),
  { name: 'blanks around', input: '{}', body: ' \n {"input" : {} } \r\n' },
  { name: 'input twice, the last counts', input: '{"b":2}', body: '{"input":5,"input":{"b":2}}' },
  { name: 'input written with escapes', input: '{"a":1}', body: '{"\\u0069nput":{"a":1}}' },
  {
    name: 'input inside another member',
    input: '{"a":1}',
    body: '{"other":{"input":{"b":2}},"input":{"a":1},"last":"\\"input\\":{}"}',
  },
  { name: 'unknown members', input: '{}', body: '{"input":{},"id":"x","status":"FAILED","__proto__":{"policy":5}}' },
  { name: 'all optional members null', input: '{}', body: '{"input":{},"webhook":null,"policy":null,"s3Config":null}' },
  {
    name: 'webhook of 2,048 characters',
    input: '{}',
    body: `{"input":{},"webhook":"http://example.com/${'x'.repeat(2_048 - 19)}"}`,
  },
  { name: 'empty policy and s3Config', input: '{}', body: '{"input":{},"policy":{},"s3Config":{}}' },
  {
    name: 'policy at its lower bounds',
    input: '{}',
    body: '{"input":{},"policy":{"executionTimeout":5000,"ttl":10000,"lowPriority":false}}',
  },
  {
    name: 'policy at its upper bounds',
    input: '{}',
    body: '{"input":{},"policy":{"executionTimeout":604800000,"ttl":604800000}}',
  },
  {
    name: 'whole numbers written otherwise',
    input: '{}',
    body: '{"input":{},"policy":{"executionTimeout":5e3,"ttl":10000.0}}',
  },
  { name: 'no content type', input: '{}', body: EMPTY, headers: { 'content-type': '' } },
  {
    name: 'JSON labelled as a form',
    input: '{}',
    body: EMPTY,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  },
  {
    name: 'JSON labelled as other text',
    input: '{"a":"é"}',
    body: '{"input":{"a":"é"}}',
    headers: { 'content-type': 'text/plain; charset=latin1' },
  },
  { name: 'content type that is none', input: '{}', body: EMPTY, headers: { 'content-type': ';;;' } },
  {
    name: 'Idempotency-Key of 255 characters',
    input: '{}',
    body: EMPTY,
    headers: { 'idempotency-key': 'k'.repeat(255) },
  },
];
