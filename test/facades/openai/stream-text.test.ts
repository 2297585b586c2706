/** Chunks as OpenAI event text. */

import { errorEvent, streamPiece } from '@slipway/facades/openai/stream-text';
import { workNow } from '@slipway/kit/bytes/sliced-work';
import t from 'tap';

const piece = (value: unknown) => workNow(streamPiece(Buffer.from(JSON.stringify(value))));

t.test('strings are event text already and pass unchanged', async (t) => {
  const text = 'data: {"a":"\u00e9"}\n\ndata: [DONE]\n\n';
  t.same(piece(text), { text, done: true, error: undefined });
  t.match(piece('half an ev'), { text: 'half an ev', done: false });
  t.match(piece(''), { text: '' });
  t.match(piece('data: {"content":"say [DONE]"}\n\n'), { done: false }, 'a model may say the word');
  t.match(piece('data: {}\n\ndata:[DONE]\n\n'), { done: true });
});

t.test('objects become one event each', async (t) => {
  t.equal(workNow(streamPiece(Buffer.from('{"n": 1.00}'))).text, 'data: {"n": 1.00}\n\n');
  t.equal(piece([{ a: 1 }, 'data: x\n\n']).text, 'data: {"a":1}\n\ndata: x\n\n');
  t.equal(piece(null).text, '');
  t.equal(piece([]).text, '');
  t.equal(
    workNow(streamPiece(Buffer.from(' [ 1 ,\n"x" , {"a":\n[1,"]"]} ] '))).text,
    'data: 1 \n\nxdata: {"a": [1,"]"]} \n\n',
  );
});

t.test('an error is not written', async (t) => {
  const found = piece({ error: { message: 'no', code: 400 } });
  t.match(found, { text: '', error: { status: 400, error: { message: 'no' } } });
  t.match(errorEvent(found.error!), /^data: \{"error":\{"message":"no".*\}\}\n\n$/);
  t.match(piece([{ a: 1 }, { object: 'error', message: 'no', code: 400 }]), {
    text: 'data: {"a":1}\n\n',
    error: { status: 400 },
  });
});
