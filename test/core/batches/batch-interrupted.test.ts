// test: postgres, 10 s
/** Files and batches whose steps are interrupted, or meet another at the same moment. */
import type { BatchParts } from '@slipway/core/batches/batch-engine';
import { endPending } from '@slipway/core/batches/take-results';
import { BatchState } from '@slipway/proto/gen/slipway/v1/batch_service';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { startEngines } from '../../helpers/system/job-engine.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { batchCalls, line } from './batch-calls.ts';

type Sql = Awaited<ReturnType<typeof startEngines>>['sql'];

t.setTimeout(120_000);

/** Returns how many connections wait for a lock. */
async function waiting(sql: Sql): Promise<number> {
  return (await sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
    .length;
}

/** Stores a batch that is being cancelled, with one request that is no job yet. */
async function cancelledBatch(sql: Sql): Promise<void> {
  await sql`
    INSERT INTO batch (id, account_id, key_id, kind, file_id, state, result_seconds, window_ms, expires_at, total)
    VALUES ('batch_a', 'account', 'key', 'OPENAI', 'file-a', 'CANCELLING', 3600, 1000, now() + interval '1 h', 1)`;
  await sql`INSERT INTO batch_item (batch_id, number, custom_id, start, bytes) VALUES ('batch_a', 1, 'one', 0, 2)`;
}

t.test('a validation that is interrupted forgets no fault', async (t) => {
  const core = await startReplicas(t);
  const { upload, create, until } = batchCalls(core);
  await core.createEndpoint({ name: 'large', modelAliases: ['gpt-4o'], workersMin: 0 });
  // The first statement that stores faults fails.
  await core.sql.unsafe(`
    CREATE SEQUENCE failures;
    CREATE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN IF nextval('failures') = 1 THEN RAISE EXCEPTION 'not now'; END IF; RETURN NEW; END $$;
    CREATE TRIGGER fail_once BEFORE UPDATE ON batch FOR EACH ROW WHEN (NEW.faults <> OLD.faults)
      EXECUTE FUNCTION fail_once()`);
  const id = await create(await upload([line('a', 'x'), line('a', 'y')].join('\n')));
  const failed = await until(id, BatchState.FAILED, BatchState.IN_PROGRESS);
  t.match(failed, { state: BatchState.FAILED, total: 2, faults: [{ code: 'duplicate_custom_id', line: 2 }] });
});

t.test('an upload that ends while its time is over is kept', async (t) => {
  const { sql, stores } = await startEngines(t, { idle: true });
  await sql`INSERT INTO account_file (id, account_id, key_id, purpose, filename, state, written_at)
    VALUES ('file-late', 'account', 'key', 'batch', 'f', 'UPLOADING', now() - interval '2 h')`;
  const ending = await sql.reserve();
  await ending`BEGIN`;
  await ending`UPDATE account_file SET state = 'READY' WHERE id = 'file-late'`;
  let isOver = false;
  const reaped = stores.batchReaper.reapFile().finally(() => {
    isOver = true;
  });
  await waitFor('the reaper to end, or to wait', async () => isOver || (await waiting(sql)) > 0);
  await ending`COMMIT`;
  ending.release();
  await reaped;
  t.match(await sql`SELECT state FROM account_file`, [{ state: 'READY' }]);
  t.equal(await stores.batchReaper.reapFile(), false, 'nor later');
});

t.test('a draft whose requests do not fit is not made', async (t) => {
  const core = await startReplicas(t, 1, { SLIPWAY_ACCOUNT_FILES_GB: '1' });
  const endpointId = await core.createEndpoint({ name: 'small', workersMin: 0 });
  const draft = () =>
    call(core.clients.batches, 'createDraft', { endpointId, inputs: [Buffer.from('{"a":1}')] }, core.key);
  const { batch } = await draft();
  t.equal(batch!.total, 1);
  await core.sql`UPDATE account_file SET bytes = ${2 ** 30}`;
  for (let n = 0; n < 12; n += 1)
    t.match(await reasonOf(draft()), /^QUEUE_FULL: The files and results of the account would take/);
  const { batches } = await call(core.clients.batches, 'listBatches', { endpointId, after: '', limit: 0 }, core.key);
  t.same(
    batches.map(({ id }) => id),
    [batch!.id],
  );
});

t.test('uploads at the same moment do not exceed the limit of their account together', async (t) => {
  const { sql, stores } = await startEngines(t, { idle: true });
  const ids = ['file-a', 'file-b'];
  for (const id of ids)
    await sql`INSERT INTO account_file (id, account_id, key_id, purpose, filename, state)
      VALUES (${id}, 'account', 'key', 'batch', 'f', 'UPLOADING')`;
  const other = await sql.reserve();
  await other`BEGIN`;
  // No piece can be stored until both uploads have come as far as they can.
  await other`LOCK TABLE file_piece IN SHARE MODE`;
  const scope = { accountId: 'account', onlyKeyId: '' };
  const piece = { start: 0, bytes: 600, sealed: Buffer.from('x') };
  const both = Promise.allSettled(ids.map((id) => stores.files.append(scope, id, piece, { files: 10, bytes: 1_000 })));
  await waitFor('both to wait', async () => (await waiting(sql)) === 2);
  await other`COMMIT`;
  other.release();
  const results = await both;
  t.same(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  t.match(
    results.find(({ status }) => status === 'rejected'),
    { reason: { reason: 'QUEUE_FULL' } },
  );
  t.match(await sql`SELECT sum(bytes)::int AS bytes FROM account_file`, [{ bytes: 600 }]);
});

t.test('a result is recorded under the lock of its batch, as every other step', async (t) => {
  const { sql, stores } = await startEngines(t, { idle: true });
  await cancelledBatch(sql);
  const other = await sql.reserve();
  await other`BEGIN`;
  await other`SELECT FROM batch WHERE id = 'batch_a' FOR UPDATE`;
  const result = { number: 1, state: 'CANCELLED', side: 'ERROR', pieces: [], startedMs: null } as const;
  const recorded = stores.batchWork.record('batch_a', 'PENDING', [result]);
  await waitFor('it to wait for the batch', async () => (await waiting(sql)) === 1);
  const items = await other`SELECT number FROM batch_item WHERE batch_id = 'batch_a' FOR UPDATE NOWAIT`;
  t.match(items, [{ number: 1 }], 'it holds no request meanwhile');
  await other`COMMIT`;
  other.release();
  t.same(await recorded, { completed: 0, failed: 1 });
});

t.test('a result that another replica has recorded is not counted again', async (t) => {
  const { sql, stores, sealer, engine } = await startEngines(t, { idle: true });
  await cancelledBatch(sql);
  const counted: [string, number][] = [];
  const onEnded: BatchParts['onEnded'] = (...ended) => counted.push(ended);
  const parts = { stores, sealer, checks: engine.checks, onEnded } as unknown as BatchParts;
  const { batch } = (await stores.batchWork.find('batch_a'))!;
  const items = [{ number: 1, customId: 'one', error: undefined }];
  t.equal(await endPending(parts, batch, items), 1);
  t.equal(await endPending(parts, batch, items), 0, 'as after a failover');
  t.equal(
    counted.reduce((sum, [, requests]) => sum + requests, 0),
    1,
  );
});
