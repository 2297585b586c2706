/** How results look: tables, spans, text that cannot fool a terminal, progress, and logs that are read bit by bit. */
import { Writable } from 'node:stream';
import { jobDocument, readable, readableError } from '@slipway/cli/jobs/present-job';
import { lastLines, newBytes } from '@slipway/cli/machines/log-window';
import { LogLines } from '@slipway/cli/machines/worker-log';
import { shorten } from '@slipway/cli/output/fit-table';
import { Output } from '@slipway/cli/output/output';
import { renderFields, renderTable } from '@slipway/cli/output/table';
import { textWidth } from '@slipway/cli/output/text-width';
import { ago, commandLine, measured, memory, roughly } from '@slipway/cli/output/words';
import { printable, printableLines, printableLog } from '@slipway/kit/log/printable';
import { Job, JobState } from '@slipway/proto/gen/slipway/v1/job';
import t from 'tap';
import { ManualClock } from '../helpers/time/manual-clock.ts';

t.test('tables are as wide as what is in them', async (t) => {
  const columns = [
    { title: 'NAME', text: ([name]: string[]) => name! },
    { title: 'SIZE', text: ([, size]: string[]) => size!, right: true },
    { title: 'EMPTY', text: () => '' },
    { title: 'END', text: ([, , end]: string[]) => end! },
  ];
  t.same(
    renderTable(columns, [
      ['a', '1', 'x'],
      ['日本語', '1,000', ''],
      ['x\u001b[2J\n', '3', 'z'],
    ]),
    [
      'NAME               SIZE  END',
      'a                     1  x',
      '日本語            1,000',
      'x\\u001b[2J\\u000a      3  z',
    ],
  );
  t.same(
    renderFields([
      ['id', 'a'],
      ['env', 'A=1\nB=2'],
      ['none', undefined],
      ['empty', ''],
      ['longer', 3],
    ]),
    [
      { name: 'id    ', value: 'a' },
      { name: 'env   ', value: 'A=1\n        B=2' },
      { name: 'longer', value: '3' },
    ],
  );
});

t.test('on a terminal the widest text of a table is shortened until it fits; ids and numbers stay', async (t) => {
  const columns = [
    { title: 'ID', text: ([id]: string[]) => id! },
    { title: 'NAME', text: ([, name]: string[]) => name! },
    { title: 'JOBS', text: ([, , jobs]: string[]) => jobs!, right: true },
    { title: 'ERROR', text: ([, , , error]: string[]) => error! },
  ];
  const rows = [
    ['x4kq0c2m9w1zpd', '日本語の長い名前です', '1,234,567', `out of memory ${'x'.repeat(100)}`],
    ['k3j9x0a2bq1zpd', 'short', '3', ''],
  ];
  const lines = renderTable(columns, rows, 60);
  t.ok(
    lines.every((line) => textWidth(line) <= 60),
    lines.join('\n'),
  );
  t.match(lines[1], /^x4kq0c2m9w1zpd {2}日.*… +1,234,567 {2}out of.*…$/);
  t.match(renderTable(columns, rows, 1_000)[1], /x{100}$/, 'there is room');
  t.same(
    renderTable(columns, rows, 36),
    [
      'ID              NAME            JOBS',
      'x4kq0c2m9w1zpd  日本語の…  1,234,567',
      'k3j9x0a2bq1zpd  short              3',
      'No room for ERROR: --wide',
    ],
    'the last columns are left out',
  );
  t.equal(renderTable(columns, rows, 5)[1], 'x4kq0c2m9w1zpd', 'but not the first');
  t.same(
    ['日本語', '日本語', 'abc'].map((text, index) => shorten(text, [6, 5, 1][index]!)),
    ['日本語', '日本…', '…'],
  );
});

t.test('text from elsewhere cannot move the cursor', async (t) => {
  t.equal(printable('a\u001b[31mb\nc\u202ed\u009b'), 'a\\u001b[31mb\\u000ac\\u202ed\\u009b');
  t.equal(printableLog('\u001b[31mred\u001b[0m 50%\r100%\ta\u0007\n'), 'red 50%100%\ta\\u0007\n');
  t.equal(
    printableLines('it crashed. Its last lines:\n\u001b[31mone\n two\n', '    '),
    'it crashed. Its last lines:\n    one\n     two',
  );
});

t.test('JSON on a terminal cannot move the cursor either, and means the same', async (t) => {
  const document = { name: 'a\u001b[2J\u009b2Jb\u202ec\u007f' };
  for (const isTTY of [true, false]) {
    let written = '';
    const sink = Object.assign(
      new Writable({
        write(part, _encoding, done) {
          written += String(part);
          done();
        },
      }),
      { isTTY },
    );
    const output = new Output(sink, sink, new ManualClock());
    output.json = true;
    output.result(document, () => undefined);
    t.same(JSON.parse(written), document);
    t.equal(/[\u007f-\u009f\u202e]/.test(written), !isTTY);
  }
});

t.test('values in words', async (t) => {
  t.same([0, 999, 61_000, 7_200_000, 200_000_000].map(roughly), ['0 ms', '999 ms', '1 min', '2 h', '2 d']);
  t.same([undefined, 12.4, 12_340].map(measured), [undefined, '12 ms', '12.3 s']);
  t.same([0, 512, 24_576].map(memory), ['', '512 MiB', '24 GiB']);
  const nowMs = Date.UTC(2026, 5, 1);
  const before = (ms: number): string => ago(new Date(nowMs - ms), nowMs);
  t.same([-5_000, 0, 90_000, 31 * 86_400_000].map(before), ['just now', 'just now', '1 min ago', '2026-05-01']);
  t.equal(ago(undefined, nowMs), '');
  t.equal(commandLine(['sh', '-c', 'echo "it\'s"', '']), `sh -c 'echo "it'\\''s"' ''`);
});

t.test("JSON output holds the handler's output byte for byte", async (t) => {
  const output = Buffer.from('{"n":12345678901234567890, "x" : 1.0}');
  const job = Job.fromPartial({ id: 'a-u1', state: JobState.COMPLETED, output, delayMs: 4, executionMs: 10 });
  const chunk = { attempt: 1, number: 1, output: Buffer.from('1.00'), metrics: undefined };
  const text = jobDocument(job, [chunk]);
  t.ok(text.includes('"output": {"n":12345678901234567890, "x" : 1.0}'));
  t.ok(text.includes('{"output":1.00}'));
  t.match(JSON.parse(text), {
    id: 'a-u1',
    status: 'COMPLETED',
    delayTime: 4,
    executionTime: 10,
    stream: [{ output: 1 }],
  });
  t.equal(readable(output), output.toString(), 'for people too, where a double would change it');
  const shown = '{\n  "box": [1, 2],\n  "words": [\n    "a]",\n    {\n      "b": 1\n    }\n  ]\n}';
  t.equal(readable(Buffer.from('{"box":[1,2],"words":["a]",{"b":1}]}')), shown);
  t.equal(
    readableError('{"error_message":"boom","error_traceback":"Error: boom\\n    at x"}'),
    'Error: boom\n    at x',
  );
  t.equal(readableError('{"error_message":"boom"}'), 'boom');
  t.equal(readableError('plain'), 'plain');
});

t.test('progress is one line on a terminal, and one line per change elsewhere', async (t) => {
  const written = { out: '', err: '' };
  const sink = (name: 'out' | 'err', isTTY: boolean) => {
    const write = (part: Buffer, _encoding: string, done: () => void): void => {
      written[name] += part.toString();
      done();
    };
    return Object.assign(new Writable({ write }), { isTTY, columns: 30 });
  };
  const plain = new Output(sink('out', false), sink('err', false), new ManualClock());
  plain.progress('is IN_QUEUE', '1 s');
  plain.progress('is IN_QUEUE', '2 s');
  plain.progress('is IN_PROGRESS', '3 s');
  t.same(written, { out: '', err: 'is IN_QUEUE\nis IN_PROGRESS\n' });
  written.err = '';
  const terminal = new Output(sink('out', true), sink('err', true), new ManualClock());
  terminal.progress('is IN_QUEUE with a long reason', '1 s');
  terminal.line('a result');
  t.match(
    written.err,
    /^\r\u001b\[K.*is IN_QUEUE with a long reaso.*\r\u001b\[K$/,
    'clipped to the terminal and gone before a result',
  );
  t.equal(written.out, 'a result\n');
});

t.test('a terminal that does not know its size cuts nothing off', async (t) => {
  let written = '';
  const write = (part: Buffer, _encoding: string, done: () => void): void => {
    written += part.toString();
    done();
  };
  const sink = Object.assign(new Writable({ write }), { isTTY: true, columns: 0, rows: 0 });
  const output = new Output(sink, sink, new ManualClock());
  output.table([{ title: 'NAME', text: (row: string) => row }], ['x'.repeat(100)], '');
  t.match(written, /x{100}\n/);
  written = '';
  output.redraw(['one', 'two', 'three']);
  t.match(written, /one[^]*two[^]*three/);
});

t.test('new lines of a log whose beginning is out of reach', async (t) => {
  const window = 200;
  const lines = Array.from({ length: 60 }, (_, index) => `line ${index} says something\n`);
  const end = (count: number): Buffer => Buffer.from(lines.slice(0, count).join('')).subarray(-window);
  for (let from = 0; from < 55; from += 1) {
    const fresh = newBytes(end(from), end(from + 3), window);
    t.equal(fresh.toString(), lines.slice(from, from + 3).join(''), `${from} lines before`);
  }
  t.equal(newBytes(end(5), end(60), window).toString(), end(60).toString(), 'more than the window holds');
  t.equal(newBytes(end(30), end(30), window).length, 0);
  const log = Buffer.from('a\nb\nc\nrest');
  t.same(
    [0, 1, 2, 9].map((count) => lastLines(log, count).toString()),
    ['', 'rest', 'c\nrest', 'a\nb\nc\nrest'],
  );
  t.same(
    [1, 2].map((count) => lastLines(Buffer.from('a\nb\n'), count).toString()),
    ['b\n', 'a\nb\n'],
  );
});

t.test('log lines come whole', async (t) => {
  let log = Buffer.from('one\ntwo\nthr');
  const reader = new LogLines(async () => log, 2);
  t.same(await reader.next(), ['two'], 'begins with the last two lines, the second of which is not whole yet');
  log = Buffer.concat([log, Buffer.from('ee\nvi'), Buffer.from('é').subarray(0, 1)]);
  t.same(await reader.next(), ['three']);
  log = Buffer.concat([log, Buffer.from('é').subarray(1), Buffer.from('r')]);
  t.same(await reader.next(), []);
  t.same([reader.rest(), reader.rest()], [['viér'], []]);
});
