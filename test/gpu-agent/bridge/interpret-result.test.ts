/** Interpretation of workers' results and chunks: outputs, errors, limits. */
import { interpretChunk, interpretResult } from '@slipway/gpu-agent/bridge/interpret-result';
import { workNow } from '@slipway/kit/bytes/sliced-work';
import { CHUNK_BYTES_MAX, OUTPUT_BYTES_MAX } from '@slipway/proto/wire/limits';
import t from 'tap';

/** Returns the result with its output as text. */
function interpret(body: string | Buffer): Record<string, unknown> {
  const result: Record<string, unknown> = { ...workNow(interpretResult({ bytes: Buffer.from(body) })) };
  if (result.output) result.output = String(result.output);
  return result;
}

const completed = (output: string | undefined, refresh = false) => ({ kind: 'completed', output, refresh });
const failed = (error: string, output?: string, refresh = false) => ({ kind: 'failed', output, error, refresh });

const TABLE: [body: string, expected: object][] = [
  ['{"output": {"a": 1}}', completed('{"a": 1}')],
  ['{}', completed(undefined)],
  ['{"output": null}', completed('null')],
  ['{"output": [1, 2]}', completed('[1, 2]')],
  ['{"output": []}', completed('[]')],
  ['{"output":"text"}', completed('"text"')],
  ['{"output": false}', completed('false')],
  ['{"output": 12345678901234567890.10}', completed('12345678901234567890.10')],
  ['{"output": {"error": "inner"}}', completed('{"error": "inner"}')],
  ['{"output": 1, "stopPod": true}', completed('1', true)],
  ['{"stopPod": true}', completed(undefined, true)],
  ['{"output": 1, "stopPod": "yes"}', completed('1')],
  ['{"error": "bad"}', failed('bad')],
  ['{"output": {"a": 1}, "error": "bad"}', failed('bad', '{"a": 1}')],
  ['{"error": {"code": 1}}', failed('{"code": 1}')],
  ['{"error": [1]}', failed('[1]')],
  ['{"error": 7}', failed('7')],
  ['{"error": true, "stopPod": true}', failed('true', undefined, true)],
  ['{"error": "nul \\u0000 inside"}', failed('nul \uFFFD inside')],
  // A value that is false in Python is not an error.
  ['{"output": 1, "error": null}', completed('1')],
  ['{"output": 1, "error": ""}', completed('1')],
  ['{"output": 1, "error": 0}', completed('1')],
  ['{"output": 1, "error": {}}', completed('1')],
  ['{"output": 1, "error": []}', completed('1')],
  ['{"output": 1, "error": { }}', completed('1')],
  ['{"output": 1, "error": -0.0}', completed('1')],
  // Any character may be written as an escape, and the last of a name counts.
  ['{"\\u006futput": 2}', completed('2')],
  ['{"output": 1, "output": 2}', completed('2')],
  ['{"status": "IN\\u005fPROGRESS", "output": 1}', { kind: 'progress', output: '1' }],
  ['{"status": "IN_PROGRESS", "output": {"p": 1}}', { kind: 'progress', output: '{"p": 1}' }],
  ['{"status": "IN_PROGRESS"}', { kind: 'progress', output: 'null' }],
  ['{"status": "COMPLETED", "output": 1}', completed('1')],
];

for (const [body, expected] of TABLE) t.same(interpret(body), expected, body);

t.test('an unusable result fails with a reason', async (t) => {
  t.match(interpret('{"output": NaN}'), { kind: 'failed', error: /not valid JSON \(NaN/ });
  t.match(interpret(''), { kind: 'failed', error: /not valid JSON/ });
  t.match(interpret('[1]'), { kind: 'failed', error: /not a JSON object/ });
  t.match(interpret('null'), { kind: 'failed', error: /not a JSON object/ });
  t.match(interpret(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])), { kind: 'failed', error: /UTF-8/ });
  const head = Buffer.from('{"output": "xxx');
  t.match(workNow(interpretResult({ oversizeBytes: 30_000_000, head })), {
    kind: 'failed',
    error: /returned 30000000 bytes.*at most 20971520/,
  });
});

t.test('the limit of an output is exact', async (t) => {
  const text = (bytes: number): Buffer => Buffer.from(`{"output":"${'x'.repeat(bytes - 2)}","stopPod":true}`);
  t.equal(interpret(text(OUTPUT_BYTES_MAX)).kind, 'completed');
  t.match(interpret(text(OUTPUT_BYTES_MAX + 1)), {
    kind: 'failed',
    error: /at most 20971520/,
    output: undefined,
    refresh: true,
  });
});

t.test('a long error is cut', async (t) => {
  const { error } = interpret(JSON.stringify({ error: 'e'.repeat(1_000_000) })) as { error: string };
  t.ok(error.length < 70_000);
  t.match(error, /cut from 1000002 bytes\]$/);
});

t.test('a progress value over the limit is ignored', async (t) => {
  t.match(interpret(JSON.stringify({ status: 'IN_PROGRESS', output: 'x'.repeat(CHUNK_BYTES_MAX) })), {
    kind: 'ignored',
    why: /over the limit/,
  });
});

t.test('chunks', async (t) => {
  const read = (body: string) => workNow(interpretChunk({ bytes: Buffer.from(body) }));
  t.same(read('{"output": "a", "metrics": {"n": 1}}'), {
    output: Buffer.from('"a"'),
    metrics: Buffer.from('{"n": 1}'),
  });
  t.same(read('{"output": 1.0}'), { output: Buffer.from('1.0'), metrics: undefined });
  t.same(read('{"output": 1, "metrics": 5}'), { output: Buffer.from('1'), metrics: undefined });
  t.same(read('{}'), { output: Buffer.from('null'), metrics: undefined });
  t.match(read('{"output": Infinity}'), { why: /not valid JSON/ });
  t.match(workNow(interpretChunk({ oversizeBytes: 50_000_000, head: Buffer.alloc(0) })), { why: /50000000/ });
});

t.test('an error that is too large keeps its beginning', (t) => {
  const text = JSON.stringify({
    error: JSON.stringify({ error_type: "<class 'RuntimeError'>", error_message: 'é\\"\n🦊'.repeat(10_000) }),
  });
  for (const bytes of [70, 1_000, 66_550, 66_551, 66_552, 66_553, 66_554]) {
    const result = workNow(interpretResult({ oversizeBytes: 50_000_000, head: Buffer.from(text).subarray(0, bytes) }));
    t.match(
      result,
      {
        kind: 'failed',
        output: undefined,
        error: /^\{"error_type":"<class 'RuntimeError'>.* \[cut from 50000000 bytes\]$/s,
      },
      `${bytes} bytes`,
    );
  }
  for (const head of ['{"error": 1', '{"error": "\\q', '{"status": "x"', '']) {
    t.match(workNow(interpretResult({ oversizeBytes: 50_000_000, head: Buffer.from(head) })), {
      kind: 'failed',
      error: /at most 20971520/,
    });
  }
  const both = Buffer.from(JSON.stringify({ output: 'x'.repeat(21_000_000), error: 'RuntimeError' }));
  t.match(
    workNow(interpretResult({ bytes: both })),
    { kind: 'failed', output: undefined, error: 'RuntimeError' },
    'also beside an output that is too large',
  );
  t.end();
});
