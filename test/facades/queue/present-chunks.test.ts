/** Pages of chunks in both shapes (docs/reference/api.md#stream). */

import { presentChunks, streamStatus } from '@slipway/facades/queue/present-chunks';
import type { Chunk } from '@slipway/proto/gen/slipway/v1/job';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import type { ReadChunksResponse } from '@slipway/proto/gen/slipway/v1/job_service';
import t from 'tap';

const chunk = (output: string, metrics?: string): Chunk => ({
  attempt: 1,
  number: 1,
  output: Buffer.from(output),
  metrics: metrics === undefined ? undefined : Buffer.from(metrics),
});
const page = (chunks: Chunk[], fields: Partial<ReadChunksResponse> = {}): ReadChunksResponse => ({
  chunks,
  state: JobState.IN_PROGRESS,
  cursor: { attempt: 1, number: 1 },
  more: false,
  ...fields,
});

t.test('array', async (t) => {
  t.equal(presentChunks(page([]), 'array').toString(), '[]');
  t.equal(
    presentChunks(page([chunk('1.00'), chunk('"a"', '{"ms":5}')]), 'array').toString(),
    '[{"output":1.00},{"output":"a","metrics":{"ms":5}}]',
  );
});

t.test('object', async (t) => {
  t.equal(
    presentChunks(page([], { state: JobState.IN_QUEUE }), 'object').toString(),
    '{"status":"IN_QUEUE","stream":[]}',
  );
  t.equal(
    presentChunks(page([chunk('null')], { state: JobState.FAILED, error: 'x' }), 'object').toString(),
    '{"status":"FAILED","stream":[{"output":null}]}',
  );
});

t.test('a final status only with the last page, at which clients stop reading', async (t) => {
  t.equal(streamStatus(page([chunk('1')], { state: JobState.COMPLETED, more: true })), 'IN_PROGRESS');
  t.equal(streamStatus(page([chunk('1')], { state: JobState.COMPLETED })), 'COMPLETED');
  t.equal(streamStatus(page([], { state: JobState.IN_QUEUE })), 'IN_QUEUE');
});
