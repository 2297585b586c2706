/** Wrong bodies of POST /v2/{endpoint}/run: no JSON, no input, wrong members. */
import type { BadRequest } from './bad-request.ts';
import { invalid, named } from './bad-request.ts';

/** Returns the text of `head`, then these bytes, then `tail`. */
function bytes(head: string, middle: number[], tail: string): Uint8Array {
  return Buffer.concat([Buffer.from(head), Buffer.from(middle), Buffer.from(tail)]);
}

/** Bodies that are no JSON object in UTF-8. */
const GRAMMAR = named<string | Uint8Array>(
  [
    ['empty body', ''],
    ['blank body', ' \n\t '],
    ['plain text', 'hello'],
    ['cut off', '{"input":{"a":1'],
    ['unclosed text', '{"input":{"a":"b}}'],
    ['trailing comma', '{"input":{},}'],
    ['trailing text', '{"input":{}} x'],
    ['two documents', '{"input":{}}{"input":{}}'],
    ['single quotes', "{'input':{}}"],
    ['bare name', '{input:{}}'],
    ['comment', '{"input":{}/* none */}'],
    ['NaN', '{"input":{"a":NaN}}'],
    ['Infinity', '{"input":{"a":-Infinity}}'],
    ['hexadecimal number', '{"input":{"a":0x10}}'],
    ['number with a leading zero', '{"input":{"a":007}}'],
    ['number with a plus', '{"input":{"a":+1}}'],
    ['number without digits after the point', '{"input":{"a":1.}}'],
    ['undefined', '{"input":undefined}'],
    ['raw NUL in a text', bytes('{"input":{"a":"', [0], '"}}')],
    ['raw NUL between values', bytes('{"input":', [0], '{}}')],
    ['raw line end in a text', '{"input":{"a":"b\nc"}}'],
    ['raw tab in a text', '{"input":{"a":"b\tc"}}'],
    ['unknown escape', '{"input":{"a":"\\x41"}}'],
    ['cut unicode escape', '{"input":{"a":"\\u12"}}'],
    ['unicode escape with wrong digits', '{"input":{"a":"\\u12g4"}}'],
    ['byte that is no UTF-8', bytes('{"input":{"a":"', [0xff], '"}}')],
    ['lone continuation byte', bytes('{"input":{"a":"', [0x80], '"}}')],
    ['overlong UTF-8', bytes('{"input":{"a":"', [0xc0, 0x80], '"}}')],
    ['lone surrogate as raw bytes', bytes('{"input":{"a":"', [0xed, 0xa0, 0x80], '"}}')],
    ['code point beyond Unicode', bytes('{"input":{"a":"', [0xf4, 0x90, 0x80, 0x80], '"}}')],
    ['cut UTF-8 sequence', bytes('{"input":{"a":"', [0xe2, 0x82], '"}}')],
    ['UTF-16', Buffer.from('\ufeff{"input":{}}', 'utf16le')],
    ['byte order mark', '\ufeff{"input":{}}'],
    ['an array', '[{"input":{}}]'],
    ['a text', '"input"'],
    ['a number', '1'],
    ['null', 'null'],
    ['true', 'true'],
    ['100,000 open brackets', '['.repeat(100_000)],
    ['100,000 nested arrays', '['.repeat(100_000) + ']'.repeat(100_000)],
    ['100,000 open objects inside input', '{"input":{"a":'.padEnd(500_000, '{"a":')],
  ],
  (body) => ({ body, ...invalid('invalid_request') }),
);

/** Content types whose bodies are no JSON. */
const CONTENT_TYPES = named<[string, string | Uint8Array, Record<string, string>?]>(
  [
    ['form', ['application/x-www-form-urlencoded', 'input=%7B%7D']],
    [
      'multipart form',
      ['multipart/form-data; boundary=b', '--b\r\ncontent-disposition: form-data; name="input"\r\n\r\n{}\r\n--b--\r\n'],
    ],
    ['XML', ['application/xml', '<input/>']],
    ['binary', ['application/octet-stream', Buffer.from([0x80, 0x04, 0x95, 0x00])]],
    ['JSON lines', ['application/x-ndjson', '{"input":{}}\n{"input":{}}\n']],
    [
      'said to be compressed, but not',
      ['application/json', Buffer.from('{"input":{}}'), { 'content-encoding': 'gzip' }],
    ],
  ],
  ([type, body, headers]) => ({ body, headers: { 'content-type': type, ...headers }, ...invalid('invalid_request') }),
);

/** `input` that is missing or no object. */
const INPUTS = named<string>(
  [
    ['input missing', '{}'],
    ['input misspelt', '{"Input":{}}'],
    ['input null', '{"input":null}'],
    ['input an array', '{"input":[]}'],
    ['input a text', '{"input":"{}"}'],
    ['input a number', '{"input":0}'],
    ['input true', '{"input":true}'],
    ['input twice, the last a number', '{"input":{},"input":5}'],
    ['input nested 257 deep', `{"input":${'{"a":'.repeat(256)}{}${'}'.repeat(256)}}`],
    ['input nested 10,000 deep', `{"input":${'{"a":'.repeat(9_999)}{}${'}'.repeat(9_999)}}`],
  ],
  (body) => ({ body, ...invalid('invalid_input') }),
);

/** `policy` of a wrong type or out of range. */
const POLICIES = named<string>(
  [
    ['policy a text', '"fast"'],
    ['policy an array', '[]'],
    ['policy a number', '1'],
    ['executionTimeout 4999', '{"executionTimeout":4999}'],
    ['executionTimeout 7 days and 1 ms', '{"executionTimeout":604800001}'],
    ['executionTimeout 0', '{"executionTimeout":0}'],
    ['executionTimeout negative', '{"executionTimeout":-600000}'],
    ['executionTimeout a text', '{"executionTimeout":"600000"}'],
    ['executionTimeout a fraction', '{"executionTimeout":5000.5}'],
    ['executionTimeout true', '{"executionTimeout":true}'],
    ['executionTimeout an array', '{"executionTimeout":[600000]}'],
    ['executionTimeout an object', '{"executionTimeout":{}}'],
    ['executionTimeout beyond all numbers', '{"executionTimeout":1e400}'],
    ['executionTimeout beyond 64 bits', '{"executionTimeout":18446744073709551616}'],
    ['executionTimeout beyond exact numbers', '{"executionTimeout":9007199254740993}'],
    ['ttl 9999', '{"ttl":9999}'],
    ['ttl 7 days and 1 ms', '{"ttl":604800001}'],
    ['ttl negative', '{"ttl":-10000}'],
    ['ttl a text', '{"ttl":"60000"}'],
    ['ttl a fraction', '{"ttl":60000.25}'],
    ['ttl huge', '{"ttl":1e300}'],
    ['lowPriority a text', '{"lowPriority":"true"}'],
    ['lowPriority a number', '{"lowPriority":1}'],
    ['lowPriority an object', '{"lowPriority":{}}'],
    ['policy twice, the last wrong', '{"ttl":60000},"policy":{"ttl":1}'],
  ],
  (policy) => ({ body: `{"input":{},"policy":${policy}}`, ...invalid('invalid_policy') }),
);

/** `webhook` that cannot be called. */
const WEBHOOKS = named<string>(
  [
    ['webhook a number', '5'],
    ['webhook an object', '{"url":"http://example.com"}'],
    ['webhook an array', '["http://example.com"]'],
    ['webhook no URL', '"example"'],
    ['webhook relative', '"/hook"'],
    ['webhook ftp', '"ftp://example.com/"'],
    ['webhook javascript', '"javascript:alert(1)"'],
    ['webhook without a host', '"http://"'],
    ['webhook with NUL', '"http://example.com/\\u0000"'],
    ['webhook with a line end', '"http://example.com/\\r\\nx: y"'],
    ['webhook of 2,049 characters', `"http://example.com/${'x'.repeat(2_049 - 19)}"`],
    ['webhook with a port beyond all ports', '"http://example.com:99999/"'],
  ],
  (webhook) => ({ body: `{"input":{},"webhook":${webhook}}`, ...invalid('invalid_webhook') }),
);

/** `s3Config` of a wrong type. */
const S3_CONFIGS = named<string>(
  [
    ['s3Config a text', '"s3"'],
    ['s3Config an array', '[]'],
    ['s3Config accessId a number', '{"accessId":1}'],
    ['s3Config accessSecret an object', '{"accessSecret":{}}'],
    ['s3Config bucketName with NUL', '{"bucketName":"\\u0000"}'],
  ],
  (config) => ({ body: `{"input":{},"s3Config":${config}}`, ...invalid('invalid_request') }),
);

/** All of them. */
export const BODY_CORPUS: BadRequest[] = [
  ...GRAMMAR,
  ...CONTENT_TYPES,
  ...INPUTS,
  ...POLICIES,
  ...WEBHOOKS,
  ...S3_CONFIGS,
];
