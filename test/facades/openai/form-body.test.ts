/** Forms that OpenAI libraries send. */
import { boundaryOf, readForm } from '@slipway/facades/openai/form-body';
import t from 'tap';
import { reasonOf } from '../reason-of.ts';

const TYPE = 'multipart/form-data; boundary=abc';
const lines = (...all: string[]) => Buffer.from(all.join('\r\n'), 'latin1');

t.test('texts and files, with the bytes between the boundaries and nothing else', async (t) => {
  const body = lines(
    '--abc',
    'Content-Disposition: form-data; name="model"',
    '',
    'whisper-1',
    '--abc',
    'Content-Disposition: form-data; name="file"; filename="a \\"b\\".wav"',
    'Content-Type: audio/wav',
    '',
    '\x00\xff\r\n--ab\r\n',
    '--abc',
    'content-disposition: form-data; name=empty',
    '',
    '',
    '--abc--',
    '',
  );
  const fields = readForm(TYPE, body);
  t.same(
    fields.map(({ name, filename, contentType, value }) => [name, filename, contentType, value.toString('latin1')]),
    [
      ['model', undefined, undefined, 'whisper-1'],
      ['file', 'a "b".wav', 'audio/wav', '\x00\xff\r\n--ab\r\n'],
      ['empty', undefined, undefined, ''],
    ],
  );
});

t.test('boundaries in quotes, behind other parameters, and too long ones', async (t) => {
  const part = ['content-disposition: form-data; name=a', '', 'text'];
  const cases: [parameters: string, boundary: string][] = [
    ['boundary="a b"', 'a b'],
    ['boundary="a;b=c"', 'a;b=c'],
    [String.raw`boundary="a\"b"`, 'a"b'],
    ['note="; boundary=other"; boundary=own', 'own'],
    ['charset=utf-8;BOUNDARY=own', 'own'],
    [`boundary=${'x'.repeat(200)}`, 'x'.repeat(200)],
  ];
  for (const [parameters, boundary] of cases) {
    t.equal(boundaryOf(`multipart/form-data; ${parameters}`), boundary);
    // Blanks may follow a boundary on its line.
    const body = lines(`--${boundary} \t`, ...part, `--${boundary}--`, '');
    t.match(readForm(`multipart/form-data; ${parameters}`, body), [{ name: 'a', value: Buffer.from('text') }]);
  }
  for (const parameters of ['boundary=', 'boundary=""', `boundary=${'x'.repeat(201)}`, 'note="; boundary=other"'])
    t.equal(
      reasonOf(() => boundaryOf(`multipart/form-data; ${parameters}`)),
      'INVALID_REQUEST',
      parameters,
    );
});

t.test('forms as Node makes them', async (t) => {
  const form = new FormData();
  form.append('model', 'whisper ü');
  form.append('file', new Blob([Buffer.from([1, 2, 3])], { type: 'audio/mpeg' }), 'x"y.mp3');
  form.append('timestamp_granularities[]', 'word');
  const made = new Response(form);
  const fields = readForm(made.headers.get('content-type')!, Buffer.from(await made.arrayBuffer()));
  t.match(fields, [
    { name: 'model', value: Buffer.from('whisper ü') },
    { name: 'file', filename: 'x"y.mp3', contentType: 'audio/mpeg', value: Buffer.from([1, 2, 3]) },
    { name: 'timestamp_granularities[]', value: Buffer.from('word') },
  ]);
});

t.test('names of files that look like parameters, or are written as RFC 8187 has it', async (t) => {
  const cases: [disposition: string, name: string, filename: string | undefined][] = [
    ['filename="a; name=b.wav"; name="file"', 'file', 'a; name=b.wav'],
    ['name="file"; filename="a\\"; name=\\"model"', 'file', 'a"; name="model'],
    ["name=file; filename*=UTF-8''%e2%82%ac%20rates.wav", 'file', '€ rates.wav'],
    ['name="file"; filename="plain.wav"; filename*=UTF-8\'\'%e2%82%ac.wav', 'file', 'plain.wav'],
    ["name=file; filename*=UTF-8''%ff.wav", 'file', '%ff.wav'],
    ['NAME="file"; FileName=a.wav', 'file', 'a.wav'],
    ['name="a"; name="b"', 'a', undefined],
  ];
  for (const [disposition, name, filename] of cases) {
    const body = lines('--abc', `Content-Disposition: form-data; ${disposition}`, '', 'x', '--abc--');
    t.match(readForm(TYPE, body), [{ name, filename, value: Buffer.from('x') }], disposition);
  }
});

t.test('faults', async (t) => {
  const field = ['--abc', 'Content-Disposition: form-data; name="a"', '', 'x'];
  const cases: [what: string, type: string, body: Buffer][] = [
    ['no boundary in the type', 'multipart/form-data', lines(...field, '--abc--')],
    ['another boundary', TYPE, lines('--x', '--x--')],
    ['nothing', TYPE, Buffer.alloc(0)],
    ['no end', TYPE, lines(...field)],
    ['a field without a name', TYPE, lines('--abc', 'Content-Disposition: form-data', '', 'x', '--abc--')],
    ['headers without an end', TYPE, lines('--abc', 'Content-Disposition: form-data; name="a"')],
    ['headers without a bound', TYPE, lines('--abc', `X: ${'x'.repeat(5_000)}`, '', 'x', '--abc--')],
    ['101 fields', TYPE, lines(...Array.from({ length: 101 }, () => field).flat(), '--abc--')],
  ];
  for (const [what, type, body] of cases)
    t.equal(
      reasonOf(() => readForm(type, body)),
      'INVALID_REQUEST',
      what,
    );
});
