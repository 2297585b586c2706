/**
 * Bodies of /run and /runsync: which are accepted, and which are rejected with which text
 * (docs/reference/api.md#submit, docs/reference/api.md#s3-settings).
 */

import { readSubmission } from '@slipway/facades/queue/submission';
import { workNow } from '@slipway/kit/bytes/sliced-work';
import { INPUT_DEPTH_MAX } from '@slipway/proto/wire/limits';
import t from 'tap';
import { reasonOf } from '../reason-of.ts';

const read = (body: string | Buffer, key?: string) => workNow(readSubmission(Buffer.from(body), key));

t.test('input travels byte for byte', async (t) => {
  const input = '{ "a": 1.00, "big": 12345678901234567890,\t"e": 1e400, "s": "\\u0000\\ud800\u00e9" }';
  t.equal(read(`{"webhook":null, "input" : ${input} , "x":[1]}`).input.toString(), input);
  t.equal(read('{"input":{}}').input.toString(), '{}');
  t.equal(
    read('{"input":1,"input":{"last":true}}').input.toString(),
    '{"last":true}',
    'of a repeated member the last counts',
  );
});

t.test('defaults', async (t) => {
  t.match(read('{"input":{}}'), { webhook: '', policy: undefined, s3Config: undefined, idempotencyKey: '' });
  t.match(read('{"input":{},"policy":null,"s3Config":null,"webhook":null}'), {
    webhook: '',
    policy: undefined,
    s3Config: undefined,
  });
});

t.test('all members', async (t) => {
  const body = {
    input: {},
    webhook: 'https://example.com/hook',
    policy: { executionTimeout: 5_000, lowPriority: true, ttl: 10_000, more: 1 },
    s3Config: { accessId: 'a', accessSecret: 'b', bucketName: 'c', endpointUrl: 'd', objectPath: 'e', more: 1 },
  };
  t.match(read(JSON.stringify(body), 'key-1'), {
    webhook: 'https://example.com/hook',
    policy: { executionTimeoutMs: 5_000, lowPriority: true, ttlMs: 10_000 },
    s3Config: { accessId: 'a', accessSecret: 'b', bucketName: 'c', endpointUrl: 'd', objectPath: 'e' },
    idempotencyKey: 'key-1',
  });
  t.match(read('{"input":{},"s3Config":{"bucketName":"c"}}').s3Config, { accessId: '', bucketName: 'c' });
  t.match(read('{"input":{},"policy":{"ttl":null}}').policy, { ttlMs: undefined });
});

t.test('webhookV2 stands in for a missing webhook and is never refused', async (t) => {
  t.equal(read('{"input":{},"webhookV2":"http://a/"}').webhook, 'http://a/');
  t.equal(read('{"input":{},"webhook":"http://b/","webhookV2":"http://a/"}').webhook, 'http://b/');
  for (const value of ['5', '{}', 'null', '"a\\u0000"'])
    t.equal(read(`{"input":{},"webhookV2":${value}}`).webhook, '', value);
});

t.test('no JSON object', async (t) => {
  for (const body of [
    '',
    ' ',
    '{',
    '[]',
    '1',
    'null',
    '"x"',
    '{"input":{}}x',
    'input=1',
    '\ufeff{"input":{}}',
    '{"input":{"a":NaN}}',
  ]) {
    t.equal(
      reasonOf(() => read(body)),
      'INVALID_REQUEST',
      JSON.stringify(body),
    );
  }
  t.equal(
    reasonOf(() => read(Buffer.from([...Buffer.from('{"input":{"a":"'), 0xff, ...Buffer.from('"}}')]))),
    'INVALID_REQUEST',
    'no UTF-8',
  );
});

t.test('input must be an object', async (t) => {
  for (const body of [
    '{}',
    '{"Input":{}}',
    '{"input":null}',
    '{"input":[]}',
    '{"input":"x"}',
    '{"input":1}',
    '{"__proto__":{"input":{}}}',
  ]) {
    t.equal(
      reasonOf(() => read(body)),
      'INVALID_INPUT',
      body,
    );
  }
});

t.test('names may be written with escapes, and the last of a name counts', async (t) => {
  t.equal(read('{"\\u0069nput":{"a":1}}').input.toString(), '{"a":1}');
  t.equal(read('{"input":{},"webhook":"http://a/","web\\u0068ook":"http://b/"}').webhook, 'http://b/');
});

t.test('a member that is a setting has a bound', async (t) => {
  const long = (name: string): string => `{"input":{},"${name}":"${'x'.repeat(20_000)}"}`;
  t.equal(
    reasonOf(() => read(long('webhook'))),
    'INVALID_WEBHOOK',
  );
  t.equal(
    reasonOf(() => read(long('policy'))),
    'INVALID_POLICY',
  );
  t.equal(
    reasonOf(() => read(long('s3Config'))),
    'INVALID_REQUEST',
  );
  t.equal(read(long('webhookV2')).webhook, '');
  t.equal(
    reasonOf(() => read(long('anything'))),
    'taken',
  );
});

t.test('depth', async (t) => {
  const nested = (depth: number): string => `{"input":${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}}`;
  t.equal(
    reasonOf(() => read(nested(INPUT_DEPTH_MAX))),
    'taken',
  );
  t.equal(
    reasonOf(() => read(nested(INPUT_DEPTH_MAX + 1))),
    'INVALID_INPUT',
  );
  t.throws(() => read(`{"input":{},"a":${'['.repeat(300)}${']'.repeat(300)}}`), {
    message: /or a member beside it, is nested more than 256 deep/,
  });
  t.equal(
    reasonOf(() => read(`{"input":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`)),
    'INVALID_INPUT',
  );
});

t.test('wrong types', async (t) => {
  const rows: [string, string][] = [
    ['"policy":[]', 'INVALID_POLICY'],
    ['"policy":"x"', 'INVALID_POLICY'],
    ['"policy":{"ttl":"10000"}', 'INVALID_POLICY'],
    ['"policy":{"ttl":10000.5}', 'INVALID_POLICY'],
    ['"policy":{"ttl":1e300}', 'INVALID_POLICY'],
    ['"policy":{"executionTimeout":true}', 'INVALID_POLICY'],
    ['"policy":{"lowPriority":1}', 'INVALID_POLICY'],
    ['"policy":{"lowPriority":"true"}', 'INVALID_POLICY'],
    ['"webhook":1', 'INVALID_WEBHOOK'],
    ['"webhook":["http://a/"]', 'INVALID_WEBHOOK'],
    ['"webhook":"http://a/\\u0000"', 'INVALID_WEBHOOK'],
    ['"s3Config":"x"', 'INVALID_REQUEST'],
    ['"s3Config":[]', 'INVALID_REQUEST'],
    ['"s3Config":{"accessId":1}', 'INVALID_REQUEST'],
    ['"s3Config":{"bucketName":"a\\u0000"}', 'INVALID_REQUEST'],
    ['"s3Config":{"accessSecret":"half \\ud83e"}', 'INVALID_REQUEST'],
    ['"webhook":"http://a/\\udc00"', 'INVALID_WEBHOOK'],
  ];
  for (const [member, reason] of rows)
    t.equal(
      reasonOf(() => read(`{"input":{},${member}}`)),
      reason,
      member,
    );
});

t.test('Idempotency-Key has 1 to 255 printable characters', async (t) => {
  t.equal(
    reasonOf(() => read('{"input":{}}', 'k'.repeat(255))),
    'taken',
  );
  for (const key of ['', 'k'.repeat(256), 'a\tb'])
    t.equal(
      reasonOf(() => read('{"input":{}}', key)),
      'INVALID_REQUEST',
      `${key.length} characters`,
    );
});
