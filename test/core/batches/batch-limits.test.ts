// test: postgres, 10 s
/** A file of a batch at its limits, and one byte or request over them. */

import { FILE_REQUESTS_MAX } from '@slipway/core/domain/batches/batch';
import { FILE_BYTES_MAX } from '@slipway/core/domain/batches/file';
import { BatchState } from '@slipway/proto/gen/slipway/v1/batch_service';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { batchCalls, line } from './batch-calls.ts';

t.setTimeout(120_000);

const core = await startReplicas(t);
const { clients, key } = core;
const { create, until, upload } = batchCalls(core);
await core.createEndpoint({ name: 'large', modelAliases: ['gpt-4o'], workersMin: 0 });

t.test('a file has 200 MiB at most', async (t) => {
  const asked = { purpose: 'batch', filename: 'requests.jsonl', expireSeconds: 0 };
  const { file } = await call(clients.files, 'createFile', asked, key);
  const { id } = file!;
  // The size is set by SQL: uploading 200 MB would take too long.
  await core.sql`UPDATE account_file SET bytes = ${FILE_BYTES_MAX - 2} WHERE id = ${id}`;
  const append = (start: number, content: string) =>
    call(clients.files, 'appendFile', { id, start, content: Buffer.from(content) }, key);
  const message = new RegExp(`^INVALID_REQUEST: the file has more than ${FILE_BYTES_MAX} bytes`);
  t.match(await reasonOf(append(FILE_BYTES_MAX - 2, 'abc')), message);
  t.same(await append(FILE_BYTES_MAX - 2, 'ab'), { bytes: FILE_BYTES_MAX });
  t.match(await reasonOf(append(FILE_BYTES_MAX, 'a')), message);
});

t.test('a file has 50,000 requests at most', async (t) => {
  const texts = Array.from({ length: FILE_REQUESTS_MAX + 1 }, (_, number) => line(`r-${number}`, 'x'));
  const over = await until(await create(await upload(texts.join('\n'))), BatchState.FAILED);
  t.match(over, { completed: 0, submitted: 0 });
  const message = `The file has ${FILE_REQUESTS_MAX + 1} requests, but may have ${FILE_REQUESTS_MAX}.`;
  t.match(over.faults, [{ code: 'too_many_requests', message }]);
  const id = await create(await upload(texts.slice(1).join('\n')));
  await until(id, BatchState.IN_PROGRESS);
  await call(clients.batches, 'cancelBatch', { id, endpointId: '' }, key);
  t.match(await until(id, BatchState.CANCELLED), { total: FILE_REQUESTS_MAX, failed: FILE_REQUESTS_MAX });
});
