/** Whose line is whose in the log of a worker, and the pages in which lines are read. */

import { TimedLog } from '@slipway/gpu-agent/launch/timed-log';
import type { JobSpan } from '@slipway/gpu-agent/workloads/workers/job-lines';
import { jobLines } from '@slipway/gpu-agent/workloads/workers/job-lines';
import t from 'tap';

/** Returns a log written at these instants. */
function written(parts: [atMs: number, text: string][], bytesMax = 1_000_000) {
  let now = 0;
  const log = new TimedLog(bytesMax, { monotonicMs: () => now, nowMs: () => 1_000_000 + now });
  for (const [atMs, text] of parts) {
    now = atMs;
    log.write(Buffer.from(text));
  }
  return log.kept();
}

type More = { attempt?: number; offset?: number; limit?: number };
const read = (log: ReturnType<typeof written>, spans: JobSpan[], jobId: string, more: More = {}, nowMs = 1e9) =>
  jobLines({ ...log, spans }, 'w', { jobId, attempt: 1, offset: 0, limit: 1_000, ...more }, nowMs);
const textsOf = ({ lines }: ReturnType<typeof read>) =>
  lines.map(({ text, shared }) => (shared ? `${text} (shared)` : text));

t.test('sequential jobs: by time, and late lines belong to the previous job', async (t) => {
  const log = written([
    [1, 'import\n'],
    [10, 'a1\na2\n'],
    [30, 'late a\n'],
    [50, 'b1\n'],
    [1_000, 'idle\n'],
  ]);
  const spans = [
    { jobId: 'a', attempt: 1, fromMs: 5, toMs: 25 },
    { jobId: 'b', attempt: 1, fromMs: 40, toMs: 60 },
  ];
  t.same(textsOf(read(log, spans, 'a')), ['a1', 'a2', 'late a']);
  t.same(textsOf(read(log, spans, 'b')), ['b1']);
  t.same(textsOf(read(log, spans, 'c')), []);
  t.match(read(log, spans, 'a').lines[0], { attempt: 1, workerId: 'w', time: new Date(1_000_010), offset: 10 });
});

t.test('concurrent jobs: lines that name their job belong to it, others are shared', async (t) => {
  const log = written([
    [
      10,
      'who\n' +
        '{"requestId": "a", "message": "from a", "level": "INFO"}\n' +
        '{"requestId": "b", "message": "from b"}\n' +
        'INFO   | a | plain a\n',
    ],
    [70, 'b alone\n{"requestId": null, "message": "nobody"}\n{"requestId": "a", "message": "Finished."}\n'],
  ]);
  const spans = [
    { jobId: 'a', attempt: 1, fromMs: 5, toMs: 25 },
    { jobId: 'b', attempt: 1, fromMs: 6, toMs: 90 },
  ];
  const messages = (id: string) =>
    textsOf(read(log, spans, id)).map((text) => text.replace(/.*"message": "([^"]*)".*/, '$1'));
  t.same(messages('a'), ['who (shared)', 'from a', 'INFO   | a | plain a', 'Finished.']);
  t.same(messages('b'), ['who (shared)', 'from b', 'b alone', 'nobody']);
});

t.test('without a job: all lines until the worker has ended', async (t) => {
  const log = written([
    [1, 'import\n'],
    [10, '{"requestId": "a"} 1\n'],
    [90, 'idle\nthe res'],
  ]);
  const spans = [{ jobId: 'a', attempt: 1, fromMs: 5, toMs: 20 }];
  const all = read(log, spans, '', { attempt: 0 });
  t.same(textsOf(all), ['import', '{"requestId": "a"} 1', 'idle']);
  t.match(all, { more: false, over: false, cut: false });
  t.match(read(log, spans, '', { attempt: 0, offset: Number.MAX_SAFE_INTEGER }), {
    lines: [],
    offset: log.bytes.length,
    over: false,
  });
  t.same(
    textsOf(read(log, spans, '', { attempt: 0, offset: all.offset }, Infinity)),
    ['the res'],
    'nothing more comes of that line',
  );
  t.match(read(log, spans, '', { attempt: 0 }, Infinity), { over: true });
  t.match(
    read(
      written(
        [
          [1, 'x'.repeat(50)],
          [2, '\nlast\n'],
        ],
        20,
      ),
      [],
      '',
      { attempt: 0 },
    ),
    { cut: true, lines: [{ text: 'last' }] },
  );
});

t.test('a job retried on the same worker has separate lines for each attempt', async (t) => {
  const log = written([
    [10, '{"requestId": "a"} 1\nx\n'],
    [110, '{"requestId": "a"} 2\ny\n'],
  ]);
  const spans = [
    { jobId: 'a', attempt: 1, fromMs: 5, toMs: 20 },
    { jobId: 'a', attempt: 2, fromMs: 100, toMs: 120 },
  ];
  t.same(textsOf(read(log, spans, 'a')), ['{"requestId": "a"} 1', 'x']);
  t.same(textsOf(read(log, spans, 'a', { attempt: 2 })), ['{"requestId": "a"} 2', 'y']);
});

t.test('an attempt of an adopted worker without a known start; lines that name the job are found', async (t) => {
  const log = written([[1, 'other\n{"requestId": "a", "message": "m"}\n']]);
  t.equal(read(log, [], 'a').lines.length, 1);
});

t.test('pages, a log with an unfinished last line, and one without its beginning', async (t) => {
  const log = written([
    [10, Array.from({ length: 10 }, (_, i) => `line ${i}\n`).join('')],
    [11, 'not yet whole'],
  ]);
  const running = [{ jobId: 'a', attempt: 1, fromMs: 5 }];
  const first = read(log, running, 'a', { limit: 4 }, 50);
  t.match(first, { more: true, over: false });
  const rest = read(log, running, 'a', { offset: first.offset }, 50);
  t.same(
    [...textsOf(first), ...textsOf(rest)],
    Array.from({ length: 10 }, (_, i) => `line ${i}`),
  );
  t.match(rest, { more: false, over: false });
  const ended = read(log, [{ ...running[0]!, toMs: 20 }], 'a', { offset: rest.offset }, 1_000);
  t.same(textsOf(ended), ['not yet whole']);
  t.match(ended, { more: false, over: true });
  const short = written([[10, 'first line\nsecond line\nthird line\n']], 16);
  t.same(textsOf(read(short, running, 'a')), ['third line']);
  const huge = read(written([[10, `${'x'.repeat(20_000)}\nnext\n`]]), running, 'a');
  t.same(
    huge.lines.map(({ text }) => text.length),
    [8_192, 4],
  );
});

t.test('dropped lines are reported only to readers of them', async (t) => {
  const log = written(
    [
      [10, 'a1\na2\na3\n'],
      [30, 'b1\nb2\n'],
    ],
    10,
  );
  const spans = [
    { jobId: 'a', attempt: 1, fromMs: 5, toMs: 25 },
    { jobId: 'b', attempt: 1, fromMs: 29, toMs: 60 },
  ];
  const first = read(log, spans, 'a');
  t.same([textsOf(first), first.cut], [['a3'], true]);
  t.equal(read(log, spans, 'a', { offset: 3 }).cut, true, 'also where some were read before');
  t.equal(read(log, spans, 'a', { offset: first.offset }).cut, false, 'who reads on misses none');
  t.equal(read(log, spans, 'b').cut, false);
});

t.test('lines of the system belong to no job, and are among all lines', async (t) => {
  let now = 10;
  const log = new TimedLog(1_000, { monotonicMs: () => now, nowMs: () => now });
  log.note('Started.', { hidden: true });
  log.write(Buffer.from('a1\n'));
  log.note('It ended.', { hidden: true });
  now = 20;
  const spans = [{ jobId: 'a', attempt: 1, fromMs: 5, toMs: 25 }];
  t.same(textsOf(read(log.kept(), spans, 'a')), ['a1']);
  const all = jobLines({ ...log.kept(), spans }, 'w', { jobId: '', attempt: 0, offset: 0, limit: 10 }, 1e9);
  t.same(
    all.lines.map(({ text, system }) => [text, system]),
    [
      ['Started.', true],
      ['a1', false],
      ['It ended.', true],
    ],
  );
});
