// test: postgres, 10 s
/** Files and batches whose steps are interrupted, or meet another at the same moment. */
import { BatchState } from '@slipway/proto/gen/slipway/v1/batch_service';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { startEngines } from '../../helpers/system/job-engine.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { batchCalls, line } from './batch-calls.ts';

t.setTimeout(120_000);

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
  const reaped = stores.batchReaper.reapFile();
  const isWaiting = async () =>
    (await sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`).length >
    0;
  await Promise.race([reaped, waitFor('the reaper to wait', isWaiting)]);
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
