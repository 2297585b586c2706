/** Lines of the Python SDK about results that it could not send, in an output that comes in any pieces. */

import { ResultLines } from '@slipway/gpu-agent/workloads/workers/result-lines';
import t from 'tap';

const line = (jobId: string | null, message: string): string =>
  `{"requestId": ${JSON.stringify(jobId)}, "message": ${JSON.stringify(message)}, "level": "ERROR"}\n`;
const UNSENDABLE = line('a', 'Error while returning job result. | Object of type bytes is not JSON serializable');

t.test('lines of the SDK', (t) => {
  const lines = new ResultLines();
  t.same(lines.push(Buffer.from(UNSENDABLE)), [
    { jobId: 'a', reason: 'Object of type bytes is not JSON serializable', over: false },
  ]);
  t.same(lines.push(Buffer.from(line('a', 'Finished.'))), [{ jobId: 'a', reason: undefined, over: true }]);
  const circular = line('b', 'Error handling job: Circular reference detected');
  t.same(lines.push(Buffer.from(circular)), [{ jobId: 'b', reason: 'Circular reference detected', over: true }]);
  t.same(
    lines.push(Buffer.from(line('b', 'Failed to return job results. | 500'))),
    [{ jobId: 'b', reason: '', over: false }],
    'that may pass',
  );
  const broken = ['{"requestId": "a", broken\n', '{"requestId": "a", "message": 1}\n'];
  for (const other of [line('a', 'Started.'), line(null, 'Finished.'), 'Finished.\n', '\n', ...broken]) {
    t.same(lines.push(Buffer.from(other)), [], other);
  }
  t.end();
});

t.test('any chunking of the output', (t) => {
  const text =
    `noise ${'x'.repeat(100)}${UNSENDABLE}progress 1\r${UNSENDABLE}\n` +
    `${UNSENDABLE}{"re\n` +
    `${line('b', 'Finished.')}tail`;
  for (const size of [1, 2, 7, 64, 1_000]) {
    const lines = new ResultLines();
    const found = [];
    for (let at = 0; at < text.length; at += size) found.push(...lines.push(Buffer.from(text.slice(at, at + size))));
    t.same(
      found.map(({ jobId }) => jobId),
      ['a', 'b'],
      `pieces of ${size}: only whole lines count`,
    );
  }
  t.end();
});

t.test('an unfinished line is not kept', (t) => {
  const lines = new ResultLines();
  lines.push(Buffer.from('{"requestId": "a", "message": "'));
  for (let index = 0; index < 100; index += 1) t.same(lines.push(Buffer.alloc(10_000, 'x')), []);
  t.same(lines.push(Buffer.from(`"}\n${UNSENDABLE}`)).length, 1, 'and the next one is read');
  t.end();
});
