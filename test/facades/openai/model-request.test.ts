/** Requests to the account's OpenAI address: the model that they name, and what endpoints get of them. */
import { readModelRequest } from '@slipway/facades/openai/model-request';
import { workNow } from '@slipway/kit/bytes/sliced-work';
import { RUNSYNC_PAYLOAD_BYTES_MAX } from '@slipway/proto/wire/limits';
import t from 'tap';
import { reasonOf } from '../reason-of.ts';

const read = (body: string | Buffer, type = 'application/json', path = 'v1/chat/completions') =>
  workNow(readModelRequest(path, type, Buffer.from(body)));

t.test('JSON: the model is replaced, all else stays byte for byte', async (t) => {
  const body = '{"messages": [],  "model": "gpt-\\u0034o", "stream":true}';
  const asked = read(body);
  t.match(asked, { route: '/v1/chat/completions', model: 'gpt-4o', streaming: true });
  t.equal(Buffer.concat(asked.forwarded('')).toString(), body);
  const replaced = '{"messages": [],  "model": "my \\"model\\"", "stream":true}';
  t.equal(Buffer.concat(asked.forwarded('my "model"')).toString(), replaced);
  t.equal(
    workNow(asked.jobInput('my "model"')).toString(),
    `{"openai_route":"/v1/chat/completions","openai_input":${replaced}}`,
  );
});

t.test('of several models the last one counts, as in JSON.parse', async (t) => {
  const asked = read('{"model":"a","model":"b"}');
  t.equal(asked.model, 'b');
  t.equal(Buffer.concat(asked.forwarded('c')).toString(), '{"model":"a","model":"c"}');
});

t.test('the longest name fits, however its characters are written', async (t) => {
  t.equal(read(`{"model":"${'\\ud83d\\ude00'.repeat(191)}"}`).model, '😀'.repeat(191));
});

t.test('a form: as it is for a server, JSON with base64 for a queue', async (t) => {
  const form = new FormData();
  form.append('model', 'whisper-1');
  form.append('file', new Blob([Buffer.from('sound')], { type: 'audio/wav' }), 'a.wav');
  form.append('timestamp_granularities[]', 'word');
  form.append('image', new Blob(['1']), '1.png');
  form.append('image', new Blob(['2']), '2.png');
  const made = new Response(form);
  const body = Buffer.from(await made.arrayBuffer());
  const asked = read(body, made.headers.get('content-type')!, 'v1/audio/transcriptions');
  t.match(asked, { route: '/v1/audio/transcriptions', model: 'whisper-1', streaming: false });
  t.same(Buffer.concat(asked.forwarded('')), body);
  t.equal(
    Buffer.concat(asked.forwarded('large')).toString(),
    body.toString().replace('\r\n\r\nwhisper-1\r\n', '\r\n\r\nlarge\r\n'),
  );
  const file = (name: string, type: string, text: string) => ({
    filename: name,
    content_type: type,
    data: Buffer.from(text).toString('base64'),
  });
  t.same(JSON.parse(workNow(asked.jobInput('large')).toString()), {
    openai_route: '/v1/audio/transcriptions',
    openai_input: {
      model: 'large',
      file: file('a.wav', 'audio/wav', 'sound'),
      timestamp_granularities: ['word'],
      image: [file('1.png', 'application/octet-stream', '1'), file('2.png', 'application/octet-stream', '2')],
    },
  });
});

t.test('a large file is encoded whole', async (t) => {
  const bytes = Buffer.alloc(500_001, 'sound');
  const form = new FormData();
  form.append('model', 'm');
  form.append('file', new Blob([bytes]), 'a.wav');
  const made = new Response(form);
  const asked = read(Buffer.from(await made.arrayBuffer()), made.headers.get('content-type')!);
  const { openai_input: input } = JSON.parse(workNow(asked.jobInput('')).toString());
  t.ok(Buffer.from(input.file.data, 'base64').equals(bytes));
});

t.test('a text is written in steps, whole characters in each', async (t) => {
  const text = `${'x'.repeat(65_534)}\u{1f600}"\n\u0001`.repeat(3);
  const form = new FormData();
  form.append('model', 'm');
  form.append('prompt', text);
  const made = new Response(form);
  const asked = read(Buffer.from(await made.arrayBuffer()), made.headers.get('content-type')!);
  let steps = 0;
  const work = asked.jobInput('');
  for (let next = work.next(); ; next = work.next()) {
    steps += 1;
    if (!next.done) continue;
    // A form's line ends are CR LF.
    t.equal(JSON.parse(next.value.toString()).openai_input.prompt, text.replaceAll('\n', '\r\n'));
    break;
  }
  t.ok(steps > 4, `${steps} steps`);
});

t.test('a text that is larger as JSON than a queue takes is rejected before it is written', async (t) => {
  const head = '--x\r\nContent-Disposition: form-data; name="';
  const body = Buffer.concat([
    Buffer.from(`${head}model"\r\n\r\nm\r\n${head}prompt"\r\n\r\n`),
    Buffer.alloc(RUNSYNC_PAYLOAD_BYTES_MAX - 1_000, 1),
    Buffer.from('\r\n--x--'),
  ]);
  const asked = read(body, 'multipart/form-data; boundary=x');
  let steps = 0;
  t.equal(
    reasonOf(() => {
      for (const work = asked.jobInput(''); !work.next().done; ) steps += 1;
    }),
    'PAYLOAD_TOO_LARGE',
  );
  // Six bytes for each one.
  t.ok(steps < RUNSYNC_PAYLOAD_BYTES_MAX / (6 * 64 * 1024) + 10, `${steps} steps`);
});

t.test('what is rejected', async (t) => {
  const form = '--x\r\nContent-Disposition: form-data; name="file"; filename="model"\r\n\r\na\r\n--x--';
  const twice =
    ['a', 'b'].map((name) => `--x\r\nContent-Disposition: form-data; name="model"\r\n\r\n${name}\r\n`).join('') +
    '--x--';
  const cases: [string, string?, string?][] = [
    ['{}'],
    ['{"model":""}'],
    ['{"model":7}'],
    ['{"model":null}'],
    [`{"model":"${'x'.repeat(4_100)}"}`],
    ['[]'],
    ['{'],
    [''],
    [form, 'multipart/form-data; boundary=x'],
    [twice, 'multipart/form-data; boundary=x'],
  ];
  for (const [body, type] of cases)
    t.equal(
      reasonOf(() => read(body, type)),
      'INVALID_REQUEST',
      body.slice(0, 80),
    );
  t.equal(
    reasonOf(() => read('{"model":"a"}', 'application/json', 'v1/a b')),
    'NOT_FOUND',
  );
  t.equal(
    reasonOf(() => read(`{"model":"a","b":${'['.repeat(300)}${']'.repeat(300)}}`)),
    'INVALID_INPUT',
  );
});
