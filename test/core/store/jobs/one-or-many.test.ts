// test: postgres
/**
 * A single job or outcome has a shorter statement, without the parts that only several need. It must have the same
 * effect as the statement for many.
 */
import { randomUUID } from 'node:crypto';
import type { OutcomeKind } from '@slipway/core/domain/jobs/attempt-outcome';
import { outcomeRule, rememberedAs } from '@slipway/core/domain/jobs/attempt-outcome';
import type { JobWithSlot, NewJob, StoredJob } from '@slipway/core/store/jobs/inserted-rows';
import type { OutcomeEntry } from '@slipway/core/store/jobs/outcome-store';
import type { Test } from 'tap';
import t from 'tap';
import { startEngines } from '../../../helpers/system/job-engine.ts';

const { sql, stores, endpoint } = await startEngines(t, { idle: true });
const { submissions, outcomes, counts, chunks } = stores;
const slot = { workerId: 'worker00000001', machineId: 'machine00001' };

/** Everything that is optional, there and not there. */
const KINDS: Partial<NewJob>[] = [
  {},
  { lowPriority: true },
  { webhookSealed: Buffer.from([1, 2, 3]) },
  { s3ConfigSealed: Buffer.from([4]), traceparent: '00-"\\{,}-01' },
  { webhookSealed: Buffer.alloc(0), s3ConfigSealed: Buffer.from([0]), input: Buffer.from('{"a":1}') },
  { executionTimeoutMs: 2 ** 40, ttlMs: 1_000_000 },
];

function jobsOf(endpointId: string): NewJob[] {
  const ids = KINDS.map(() => `${randomUUID()}-u1`).toSorted();
  return KINDS.map((kind, index) => ({
    endpointId,
    id: ids[index]!,
    lowPriority: false,
    executionTimeoutMs: 600_000,
    retentionMs: 60_000,
    ttlMs: 600_000,
    input: Buffer.from('{}'),
    webhookSealed: undefined,
    s3ConfigSealed: undefined,
    ...kind,
  }));
}

/** Returns all that is stored of an endpoint's jobs, in order, without the values that differ from run to run. */
async function stored(endpointId: string): Promise<unknown> {
  const jobs = await sql`
    SELECT j.state, j.low_priority, j.attempt, j.retries, j.machine_id, j.worker_id, j.claim_id IS NULL AS unclaimed,
      j.has_webhook, j.execution_timeout_ms,
      j.retention_ms, j.started_at IS NULL AS unstarted, j.finished_at IS NULL AS unfinished,
      (j.execution_deadline_at - j.started_at)::text AS runs,
      (j.ttl_deadline_at - j.submitted_at)::text AS ttl,
      (j.expires_at - coalesce(j.finished_at, j.submitted_at))::text AS kept,
      j.finished_at = j.started_at AS ran_no_time, i.input, i.webhook_sealed, i.s3_config_sealed, i.traceparent,
      o.output, o.error,
      (SELECT count(*) FROM job_chunk c WHERE c.job_id = j.id) AS chunks, (SELECT count(*) FROM webhook_delivery w
        WHERE w.job_id = j.id) AS calls,
      (SELECT json_agg(json_build_array(l.attempt, l.cause, l.worker_id)) FROM lost_attempt l
        WHERE l.job_id = j.id) AS lost
    FROM job j JOIN job_input i ON i.job_id = j.id LEFT JOIN job_output o ON o.job_id = j.id
      WHERE j.endpoint_id = ${endpointId} ORDER BY j.id`;
  const tally =
    await sql`SELECT sum(completed) AS completed, sum(failed) AS failed, sum(retried) AS retried, sum(queued) AS queued,
      sum(queued_low) AS low
    FROM endpoint_tally WHERE endpoint_id = ${endpointId}`;
  return { jobs: [...jobs], tally: tally[0], health: await counts.health(endpointId) };
}

/** Returns stored jobs in the order of their ids. */
function byId(jobs: readonly StoredJob[]): StoredJob[] {
  return jobs.toSorted((a, b) => (a.job.id < b.job.id ? -1 : 1));
}

/** Does the same in one statement for all and in one for each, each time on a new endpoint. */
async function bothWays<Item>(
  t: Test,
  prepare: (endpointId: string) => Promise<Item[]>,
  work: (items: Item[]) => Promise<object[]>,
): Promise<void> {
  const [many, one] = [await endpoint(), await endpoint()];
  const answered = [await work(await prepare(many)), [] as object[]] as const;
  for (const item of await prepare(one)) answered[1].push(...(await work([item])));
  t.equal(answered[1].length, answered[0].length, 'as many rows are answered');
  t.same(await stored(one), await stored(many));
}

for (const [name, place] of [
  ['queued', undefined],
  ['taken at once', slot],
] as const) {
  t.test(`jobs that are ${name}`, async (t) => {
    await bothWays(
      t,
      async (endpointId): Promise<JobWithSlot[]> => jobsOf(endpointId).map((job) => ({ job, slot: place })),
      async (placements) => {
        const claimId = randomUUID();
        const made = await submissions.insert(placements, claimId);
        t.ok(made.every((job) => job.claimId === (place ? claimId : null) && job.position > 0));
        t.same(byId(made), byId(await submissions.read(placements.map(({ job }) => job))), 'answered as they are read');
        t.same(await submissions.insert(placements, randomUUID()), [], 'said again they are left as they are');
        return made;
      },
    );
  });
}

const ENDS: { kind: OutcomeKind; more: Partial<OutcomeEntry> }[] = [
  { kind: 'COMPLETED', more: { output: Buffer.from('["\\",{}"]') } },
  { kind: 'COMPLETED', more: {} },
  { kind: 'COMPLETED', more: { attempt: 2 } },
  { kind: 'FAILED', more: { error: 'a "b" \\ {c,d} \0', output: Buffer.from('{"rest":1}') } },
  { kind: 'FAILED', more: { error: '', executionMs: undefined } },
  { kind: 'LOST', more: { error: 'its worker died' } },
];

t.test('jobs that ended before they were stored', async (t) => {
  const ended = (endpointId: string) =>
    jobsOf(endpointId)
      .filter((job) => !(job.webhookSealed || job.s3ConfigSealed))
      .map((job, index) => ({ job, ...slot, ageMs: 9, executionMs: 0, output: [Buffer.from('["\\"]')][index] }));
  await bothWays(
    t,
    async (endpointId) => ended(endpointId),
    async (jobs) => {
      const made = await submissions.insertEnded(jobs);
      const read = byId(await submissions.read(jobs.map(({ job }) => job)));
      t.same(
        made.map(({ job }) => job).sort((a, b) => (a.id < b.id ? -1 : 1)),
        read.map(({ job }) => job),
        'answered as they are read',
      );
      t.same(await submissions.insertEnded(jobs), [], 'said again they are left as they are');
      return made;
    },
  );
  const [before, after] = [await endpoint(), await endpoint()];
  await submissions.insertEnded(ended(before));
  const jobs = ended(after);
  const placements = jobs.map(({ job }) => ({ job, slot }));
  await submissions.insert(placements, randomUUID());
  const rule = outcomeRule('COMPLETED', { retryLimit: 0, retryHandlerErrors: false });
  const entries = jobs.map(({ job, output, executionMs }) => {
    const key = { endpointId: after, jobId: job.id, attempt: 1, machineId: slot.machineId };
    return { ...key, rule, output, error: undefined, executionMs };
  });
  await outcomes.record(entries);
  t.same(await stored(before), await stored(after), 'and are stored as those that were stored first');
});

for (const rules of [
  { retryLimit: 0, retryHandlerErrors: false },
  { retryLimit: 2, retryHandlerErrors: true },
]) {
  t.test(`outcomes with up to ${rules.retryLimit} retries`, async (t) => {
    const running = async (endpointId: string): Promise<OutcomeEntry[]> => {
      const jobs = jobsOf(endpointId);
      const claims = await submissions.insert(
        jobs.map((job) => ({ job, slot })),
        randomUUID(),
      );
      await chunks.append(
        claims.map(({ job }) => ({ ...key(job.id), number: 1, output: Buffer.from('1'), metrics: undefined })),
      );
      return jobs.map(({ id }, index) => {
        const { kind, more } = ENDS[index]!;
        const remembered = rememberedAs(kind);
        return {
          ...key(id),
          rule: outcomeRule(kind, rules),
          output: undefined,
          error: undefined,
          ...(remembered && { remembered }),
          executionMs: 0,
          ...more,
        };
      });
      function key(jobId: string) {
        return { endpointId, jobId, attempt: 1, machineId: slot.machineId };
      }
    };
    await bothWays(t, running, (entries) => outcomes.record(entries));
  });
}
