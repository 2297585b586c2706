// test: postgres
/** Submissions: what is stored, what is rejected, and which get a worker at once. */
import { randomUUID } from 'node:crypto';
import { s3ConfigIdentity } from '@slipway/core/domain/settings/sealed-identity';
import t from 'tap';
import { outcome, refused, slotsOn, startEngines, submission } from '../../helpers/system/job-engine.ts';

const engines = await startEngines(t);
const { engine, sql, slots, sealer } = engines;
const { calls } = engine;

t.test('a job is stored as it was sent, with its deadlines by the database clock', async (t) => {
  const endpointId = await engines.endpoint();
  const input = Buffer.from('{ "big": 12345678901234567890.10, "text": "ü\\u0000" }');
  const job = await calls.submit(
    submission(endpointId, { input, policy: { ttlMs: 20_000, executionTimeoutMs: 6_000 } }),
  );
  t.match(
    job.id,
    /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}-u1$/,
    'an id that sorts by time: rows that are made together lie together',
  );
  t.equal(job.state, 'IN_QUEUE');
  const [row] = await sql`
    SELECT j.*, i.input, extract(epoch FROM ttl_deadline_at - submitted_at)::float8 AS ttl,
      expires_at = ttl_deadline_at AS same
    FROM job j JOIN job_input i ON i.job_id = j.id WHERE j.id = ${job.id}`;
  t.match(row, {
    state: 'IN_QUEUE',
    attempt: 0,
    ttl: 20,
    same: true,
    execution_timeout_ms: 6_000,
    retention_ms: 1_800_000,
    low_priority: false,
  });
  t.same(row!['input'], input);
});

t.test('runsync jobs carry their prefix and the retention of their wait', async (t) => {
  const endpointId = await engines.endpoint();
  for (const [waitMs, retention] of [
    [1_000, 60_000],
    [90_000, 90_000],
    [300_000, 300_000],
  ] as const) {
    const job = await calls.submit(submission(endpointId, { kind: 'SYNC', waitMs }));
    t.match(job.id, /^sync-[0-9a-f-]{36}-u1$/);
    const [row] = await sql`SELECT retention_ms FROM job WHERE id = ${job.id}`;
    t.equal(row!['retention_ms'], retention, `wait ${waitMs}`);
  }
});

t.test('the endpoint gives the default execution timeout', async (t) => {
  const endpointId = await engines.endpoint({ execution_timeout_ms: 77_000 });
  const job = await calls.submit(submission(endpointId));
  const [row] = await sql`SELECT execution_timeout_ms FROM job WHERE id = ${job.id}`;
  t.equal(row!['execution_timeout_ms'], 77_000);
});

t.test('the same request id makes one job', async (t) => {
  const endpointId = await engines.endpoint();
  const requestId = randomUUID();
  const again = await Promise.all([1, 2, 3].map(() => calls.submit(submission(endpointId, { requestId }))));
  again.push(await calls.submit(submission(endpointId, { requestId })));
  t.same(new Set(again.map((job) => job.id)), new Set([`${requestId}-u1`]));
  const [row] = await sql`SELECT count(*) AS n FROM job WHERE endpoint_id = ${endpointId}`;
  t.equal(row!['n'], 1);
});

t.test('refusals store nothing and say why', async (t) => {
  const endpointId = await engines.endpoint();
  const other = await engines.endpoint({ type: 'LB' });
  const deep = (levels: number): Buffer => Buffer.from(`{"a":${'['.repeat(levels - 1)}1${']'.repeat(levels - 1)}}`);
  const cases: [reason: string, more: Parameters<typeof submission>[1], endpoint?: string][] = [
    ['INVALID_INPUT', { input: Buffer.from('') }],
    ['INVALID_INPUT', { input: Buffer.from('[]') }],
    ['INVALID_INPUT', { input: Buffer.from('"x"') }],
    ['INVALID_INPUT', { input: Buffer.from('null') }],
    ['INVALID_INPUT', { input: Buffer.from('{"a":') }],
    ['INVALID_INPUT', { input: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]) }],
    ['INVALID_INPUT', { input: deep(257) }],
    ['PAYLOAD_TOO_LARGE', { input: Buffer.alloc(10 * 1024 * 1024 + 1, ' ') }],
    ['PAYLOAD_TOO_LARGE', { kind: 'SYNC', input: Buffer.alloc(20 * 1024 * 1024 + 1, ' ') }],
    ['INVALID_POLICY', { policy: { ttlMs: 9_999 } }],
    ['INVALID_POLICY', { policy: { executionTimeoutMs: 4_999 } }],
    ['INVALID_WEBHOOK', { webhook: 'ftp://example.com/' }],
    ['INVALID_REQUEST', { requestId: 'not-a-uuid' }],
    ['INVALID_REQUEST', { idempotencyKey: 'k'.repeat(256) }],
    ['WRONG_ENDPOINT_TYPE', {}, other],
    ['ENDPOINT_NOT_FOUND', {}, 'nosuchendpoint'],
  ];
  for (const [reason, more, endpoint] of cases) {
    await refused(t, calls.submit(submission(endpoint ?? endpointId, more)), reason);
  }
  const [row] = await sql`SELECT count(*) AS n FROM job WHERE endpoint_id IN ${sql([endpointId, other])}`;
  t.equal(row!['n'], 0);
  t.ok(await calls.submit(submission(endpointId, { input: deep(256) })), 'the deepest allowed input');
});

t.test('s3Config is sealed for its job alone', async (t) => {
  const endpointId = await engines.endpoint();
  const s3Config = Buffer.from('access secret');
  const job = await calls.submit(submission(endpointId, { s3Config }));
  const [row] = await sql<
    { sealed: Buffer }[]
  >`SELECT s3_config_sealed AS sealed FROM job_input WHERE job_id = ${job.id}`;
  t.notMatch(row!.sealed.toString('latin1'), /secret/);
  t.throws(() => sealer.open(row!.sealed, s3ConfigIdentity(endpointId, 'another')));
  const [claimed] = await engine.attempts.claim(endpointId, slotsOn(endpointId, 1));
  t.same(engine.attempts.openS3Config(claimed!), s3Config);
});

t.test('with a free worker and nothing queued the insert claims', async (t) => {
  const endpointId = await engines.endpoint();
  // A replica looks once before it believes that a queue is empty.
  await engine.attempts.claim(endpointId, slotsOn(endpointId, 1));
  slots.add(endpointId, 2);
  const jobs = await Promise.all([1, 2, 3].map(() => calls.submit(submission(endpointId))));
  t.same(
    jobs.map((job) => job.state),
    ['IN_PROGRESS', 'IN_PROGRESS', 'IN_QUEUE'],
  );
  const assigned = slots.assigned.filter((job) => job.endpointId === endpointId);
  t.same(
    assigned.map((job) => job.jobId),
    jobs.slice(0, 2).map((job) => job.id),
  );
  t.match(assigned[0], {
    attempt: 1,
    workerId: 'worker00000001',
    machineId: 'machine00001',
    inputSize: 7,
    input: Buffer.from('{"a":1}'),
  });
  t.equal(await engine.attempts.recordOutcome(outcome(assigned[0]!)), 'recorded');
  slots.add(endpointId, 1);
  const behind = await calls.submit(submission(endpointId));
  t.equal(behind.state, 'IN_QUEUE', 'nobody overtakes the job that waits');
  t.equal(slots.free.get(endpointId)!.length, 1, 'the slot is still free');
});

t.test('a large input does not travel with the claim', async (t) => {
  const endpointId = await engines.endpoint();
  const input = Buffer.from(JSON.stringify({ text: 'x'.repeat(300_000) }));
  const job = await calls.submit(submission(endpointId, { input }));
  const [claimed] = await engine.attempts.claim(endpointId, slotsOn(endpointId, 1));
  t.match(claimed, { jobId: job.id, input: undefined, inputSize: input.length });
  t.same(await engine.attempts.readInput(claimed!), input);
  t.equal(await engine.attempts.readInput({ ...claimed!, attempt: 2 }), undefined, 'only for the current attempt');
});

t.test('a queue that is too long refuses', async (t) => {
  const endpointId = await engines.endpoint({ workers_max: 0 });
  for (let i = 0; i < 51; i += 1) await calls.submit(submission(endpointId));
  await refused(t, calls.submit(submission(endpointId)), 'QUEUE_FULL', '51 are more than 50');
  await calls.purge(endpointId);
  t.ok(await calls.submit(submission(endpointId)), 'there is room again');
});
