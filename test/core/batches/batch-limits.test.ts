// test: postgres, 30 s
/** Files, batches and accounts at their limits, and one byte, request or file over them. */

import {
  ACCOUNT_BATCHES_MAX,
  DRAFT_REQUESTS_MAX,
  ENDPOINT_BATCHES_MAX,
  FILE_REQUESTS_MAX,
} from '@slipway/core/domain/batches/batch';
import { FILE_BYTES_MAX } from '@slipway/core/domain/batches/file';
import { BatchState } from '@slipway/proto/gen/slipway/v1/batch_service';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { startEngines } from '../../helpers/system/job-engine.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { batchCalls, line } from './batch-calls.ts';

t.setTimeout(120_000);

/** Bytes of the files of an account that may have 1 GB. */
const ACCOUNT_BYTES = 2 ** 30;

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

t.test('an account has a limited number of files and of bytes', async (t) => {
  const limited = await startReplicas(t, 1, { SLIPWAY_ACCOUNT_FILES_MAX: '2', SLIPWAY_ACCOUNT_FILES_GB: '1' });
  const agent = await limited.joinAgent();
  const endpointId = await limited.createEndpoint({ name: 'small', modelAliases: ['gpt-4o'] });
  await limited.ready(endpointId);
  const own = batchCalls(limited);
  const first = await own.upload(line('a', 'x'));
  const second = await own.upload(line('b', 'x'));
  t.match(await reasonOf(own.upload(line('c', 'x'))), /^QUEUE_FULL: The account has 2 files, which is the most/);
  const remove = (id: string) => call(limited.clients.files, 'deleteFile', { id }, limited.key);
  await remove(second);
  const [row] = await limited.sql<{ bytes: number }[]>`SELECT bytes::int FROM account_file WHERE id = ${first}`;
  const large = await call(
    limited.clients.files,
    'createFile',
    { purpose: 'batch', filename: 'l', expireSeconds: 0 },
    limited.key,
  );
  const { id } = large.file!;
  const append = (start: number, content: string) =>
    call(limited.clients.files, 'appendFile', { id, start, content: Buffer.from(content) }, limited.key);
  const resize = (file: string, bytes: number) =>
    limited.sql`UPDATE account_file SET bytes = ${bytes} WHERE id = ${file}`;
  await resize(first, ACCOUNT_BYTES - 2);
  const over = new RegExp(`^QUEUE_FULL: .* more than ${ACCOUNT_BYTES} bytes, which is the most`);
  t.match(await reasonOf(append(0, 'abc')), over);
  t.same(await append(0, 'ab'), { bytes: 2 });
  const draft = { endpointId, inputs: [Buffer.from('{}')] };
  t.match(await reasonOf(call(limited.clients.batches, 'createDraft', draft, limited.key)), over);
  const all = { endpointId, after: '', limit: 0 };
  t.same((await call(limited.clients.batches, 'listBatches', all, limited.key)).batches, [], 'no empty draft is left');
  await resize(first, row!.bytes);
  await resize(id, ACCOUNT_BYTES);
  const batch = await own.create(first);
  const waiting = await waitFor('its reason to wait', async () => {
    const now = await own.get(batch);
    return now.stalled !== '' && now;
  });
  t.match(waiting, { submitted: 0, completed: 0, stalled: /may have \d+\. Delete some\./ });
  t.equal(agent.assignments.length, 0, 'nothing runs whose result has no place');
  await call(limited.clients.files, 'finishFile', { id, expireSeconds: 0 }, limited.key);
  await remove(id);
  t.match(await own.until(batch, BatchState.COMPLETED), { completed: 1, stalled: '' });
});

t.test('an account and an endpoint have a limited number of batches that have not ended', async (t) => {
  const accountId = await core.newAccount('busy');
  const busy = await core.newKey(undefined, [], accountId);
  const endpointId = await core.createEndpoint({ name: 'idle', modelAliases: ['gpt-4o'], workersMin: 0 }, busy);
  const own = batchCalls(core, busy);
  const fileId = await own.upload(line('a', 'x'));
  const ids: string[] = [];
  while (ids.length < ACCOUNT_BATCHES_MAX) ids.push(await own.create(fileId));
  const full = /^QUEUE_FULL: The account has 100 batches that have not ended/;
  t.match(await reasonOf(own.create(fileId)), full);
  await call(clients.batches, 'cancelBatch', { id: ids[0]!, endpointId: '' }, busy);
  await own.until(ids[0]!, BatchState.CANCELLED);
  t.ok(await own.create(fileId), 'one has ended');
  const draft = () => call(clients.batches, 'createDraft', { endpointId, inputs: [Buffer.from('{}')] }, busy);
  const many = Array.from({ length: DRAFT_REQUESTS_MAX + 1 }, () => Buffer.from('{}'));
  const over = /^INVALID_REQUEST: a batch may have 5000 requests, not 5001/;
  t.match(await reasonOf(call(clients.batches, 'createDraft', { endpointId, inputs: many }, busy)), over);
  for (let count = 0; count < ENDPOINT_BATCHES_MAX; count += 1) await draft();
  const [some] = (await call(clients.batches, 'listBatches', { endpointId, after: '', limit: 1 }, busy)).batches;
  const added = { endpointId, batchId: some!.id, replace: false, inputs: many.slice(1) };
  t.match(await reasonOf(call(clients.batches, 'addRequests', added, busy)), over, 'with the one that it has');
  t.match(await reasonOf(draft()), /^QUEUE_FULL: The endpoint has 10 batches that have not ended/);
});

t.test('thousands of batches of one account hide none of another', async (t) => {
  const { sql, stores } = await startEngines(t, { idle: true });
  await sql`INSERT INTO account (id, name) VALUES ('second', 'second')`;
  await sql`
    INSERT INTO batch (id, account_id, key_id, kind, file_id, state, result_seconds, window_ms, created_at, expires_at)
    SELECT CASE n WHEN 0 THEN 'last' ELSE 'b' || n END, CASE n WHEN 0 THEN 'second' ELSE 'account' END, 'key',
      'ENDPOINT', 'file', 'IN_PROGRESS', 60, 60000, now() - n * interval '1 s', now() + interval '1 h'
    FROM generate_series(0, 6000) AS n`;
  const active = await stores.batchWork.active();
  t.equal(active.length, 5_000);
  t.same(active.slice(0, 3), ['b6000', 'last', 'b5999'], 'the oldest of each account come first');
});
