/** OpenAI requests as job inputs (docs/reference/api.md#openai). */

import { readOpenaiRequest, rejectForm } from '@slipway/facades/openai/openai-request';
import { workNow } from '@slipway/kit/bytes/sliced-work';
import t from 'tap';
import { reasonOf } from '../reason-of.ts';

const read = (path: string, body: Buffer | undefined) => workNow(readOpenaiRequest(path, body));

t.test('a body travels byte for byte under openai_input', async (t) => {
  const body = '{"model": "m",  "temperature": 1.00, "stream":false}';
  const { input, streaming } = read('v1/chat/completions', Buffer.from(body));
  t.equal(input.toString(), `{"openai_route":"/v1/chat/completions","openai_input":${body}}`);
  t.equal(streaming, false);
});

t.test('only stream: true streams', async (t) => {
  t.equal(read('v1/x', Buffer.from('{"stream":true}')).streaming, true);
  for (const value of ['"true"', '1', 'null', 'false'])
    t.equal(read('v1/x', Buffer.from(`{"stream":${value}}`)).streaming, false, value);
});

t.test('GET has no openai_input', async (t) => {
  t.equal(read('v1/models', undefined).input.toString(), '{"openai_route":"/v1/models"}');
});

t.test('what is refused', async (t) => {
  for (const path of ['', 'v1/a b', 'v1/\u0000', 'v1/"x"', 'x'.repeat(300)])
    t.equal(
      reasonOf(() => read(path, undefined)),
      'NOT_FOUND',
      JSON.stringify(path),
    );
  for (const body of ['', '[]', '{'])
    t.equal(
      reasonOf(() => read('v1/x', Buffer.from(body))),
      'INVALID_REQUEST',
      body,
    );
  t.equal(
    reasonOf(() => read('v1/x', Buffer.from(`{"a":${'['.repeat(300)}${']'.repeat(300)}}`))),
    'INVALID_INPUT',
  );
});

t.test('forms are refused with a sentence that names the accepted types', async (t) => {
  t.throws(() => rejectForm('multipart/form-data; boundary=x'), {
    reason: 'INVALID_REQUEST',
    message: /send a JSON object, with the file as base64 text/,
  });
  for (const type of ['application/json', 'text/plain', undefined]) t.doesNotThrow(() => rejectForm(type));
});
