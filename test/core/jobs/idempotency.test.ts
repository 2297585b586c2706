// test: postgres
/** The Idempotency-Key: one job for one key, also when many ask at once, until that job is gone. */
import t from 'tap';
import { never, outcome, refused, slotsOn, startEngines, submission } from '../../helpers/system/job-engine.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const engines = await startEngines(t, { replicas: 2 });
const { engine, sql, stores, replicas } = engines;
const { calls, attempts } = engine;

t.test('same key and body: the first job; another body: refused; another endpoint: another job', async (t) => {
  const endpointId = await engines.endpoint();
  const keyed = submission(endpointId, { idempotencyKey: 'order 1' });
  const jobs = await Promise.all(Array.from({ length: 10 }, (_, i) => replicas[i % 2]!.engine.calls.submit(keyed)));
  t.equal(new Set(jobs.map((job) => job.id)).size, 1, 'one job for ten submissions at once');
  const changes = [
    { input: Buffer.from('{"a":2}') },
    { webhook: 'http://127.0.0.1/' },
    { policy: { lowPriority: true } },
    { policy: { ttlMs: 10_000 } },
    { kind: 'SYNC' as const },
    { s3Config: Buffer.from('x') },
  ];
  for (const more of changes)
    await refused(t, calls.submit({ ...keyed, ...more }), 'IDEMPOTENCY_KEY_REUSED', Object.keys(more)[0]);
  t.equal((await calls.submit({ ...keyed, waitMs: 5_000 })).id, jobs[0]!.id, 'the wait is no part of the body');
  t.not((await calls.submit({ ...keyed, endpointId: await engines.endpoint() })).id, jobs[0]!.id);
  const [row] = await sql`SELECT count(*) AS n FROM job WHERE endpoint_id = ${endpointId}`;
  t.equal(row!['n'], 1);
});

t.test('the job of a key is claimed like any other, and a waiter waits for it', async (t) => {
  const endpointId = await engines.endpoint();
  const keyed = submission(endpointId, { idempotencyKey: 'sync', kind: 'SYNC' });
  const waiting = [calls.submitAndWait(keyed, never), calls.submitAndWait(keyed, never)];
  await calls.submit(keyed);
  const [job] = await attempts.claim(endpointId, slotsOn(endpointId, 1));
  await attempts.recordOutcome(outcome(job!));
  t.same(
    (await Promise.all(waiting)).map(({ id, state }) => [id, state]),
    [
      [job!.jobId, 'COMPLETED'],
      [job!.jobId, 'COMPLETED'],
    ],
  );
});

t.test('a key whose job is gone is free again', async (t) => {
  const endpointId = await engines.endpoint();
  const keyed = submission(endpointId, { idempotencyKey: 'again' });
  const first = await calls.submit(keyed);
  await sql`UPDATE job SET expires_at = now() WHERE id = ${first.id}`;
  const second = await calls.submit({ ...keyed, input: Buffer.from('{"other":1}') });
  t.not(second.id, first.id);
  await calls.purge(endpointId);
  t.not((await calls.submit(keyed)).id, second.id, 'after a purge too');
});

t.test('a key lasts as long as its job, also when that lives longer than was planned', async (t) => {
  const endpointId = await engines.endpoint();
  const keyed = submission(endpointId, { idempotencyKey: 'extended', policy: { ttlMs: 10_000 } });
  const first = await calls.submit(keyed);
  await calls.get({ endpointId, jobId: first.id }, { omitOutput: true, ttlMs: 60_000 });
  // As it is when those 10 s are over.
  await sql`UPDATE idempotency_key SET expires_at = now() WHERE endpoint_id = ${endpointId}`;
  await stores.deletions.reapIdempotencyKeys(100);
  t.equal((await calls.submit(keyed)).id, first.id);
  await sql`UPDATE idempotency_key SET expires_at = now() WHERE endpoint_id = ${endpointId}`;
  await sql`UPDATE job SET expires_at = now() WHERE id = ${first.id}`;
  t.equal(await stores.deletions.reapIdempotencyKeys(100), 1);
  t.same([...(await sql`SELECT FROM idempotency_key WHERE endpoint_id = ${endpointId}`)], [], 'and no longer');
});

t.test('the key itself is not stored', async (t) => {
  const endpointId = await engines.endpoint();
  await calls.submit(submission(endpointId, { idempotencyKey: 'my secret order' }));
  const [row] = await sql<
    { key_hash: Buffer }[]
  >`SELECT key_hash FROM idempotency_key WHERE endpoint_id = ${endpointId}`;
  t.equal(row!.key_hash.length, 32);
});

t.test('a connection cut while the job of a key is stored: it is stored once, and the caller gets it', async (t) => {
  const endpointId = await engines.endpoint();
  const keyed = submission(endpointId, { idempotencyKey: 'cut' });
  const waiting = () => sql<{ pid: number }[]>`
    SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
      AND query LIKE '%idempotency_key%'`;
  let submitted: ReturnType<typeof calls.submit> | undefined;
  await sql.begin(async (holder) => {
    await holder`LOCK TABLE idempotency_key IN EXCLUSIVE MODE`;
    submitted = calls.submit(keyed);
    submitted.catch(() => undefined);
    const [{ pid }] = await waitFor('it to wait', async () => {
      const [first] = await waiting();
      return first && ([first] as const);
    });
    await sql`SELECT pg_terminate_backend(${pid})`;
    await waitFor('it to be gone', async () => (await waiting()).every((other) => other.pid !== pid));
  });
  const { id } = await submitted!;
  t.equal((await calls.submit(keyed)).id, id);
  t.same([...(await sql`SELECT id FROM job WHERE endpoint_id = ${endpointId}`)], [{ id }]);
});
