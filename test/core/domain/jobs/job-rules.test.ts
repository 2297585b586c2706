/** The rules of jobs by table: states, policy, retention, ids, outcomes, queue length. */

import { DRAFT_REQUESTS_MAX } from '@slipway/core/domain/batches/batch';
import type { OutcomeKind, OutcomeRule } from '@slipway/core/domain/jobs/attempt-outcome';
import { ALWAYS, lossText, outcomeRule } from '@slipway/core/domain/jobs/attempt-outcome';
import { isJobId, jobId } from '@slipway/core/domain/jobs/job-id';
import * as limits from '@slipway/core/domain/jobs/job-limits';
import { checkRemainingLife, resolvePolicy } from '@slipway/core/domain/jobs/job-policy';
import type { JobState, Trigger } from '@slipway/core/domain/jobs/job-state';
import { canCancel, isFinal, JOB_STATES, nextState, TRANSITIONS } from '@slipway/core/domain/jobs/job-state';
import { queueLengthMax } from '@slipway/core/domain/jobs/queue-limit';
import { retentionMs } from '@slipway/core/domain/jobs/retention';
import * as wire from '@slipway/proto/wire/limits';
import t from 'tap';

t.test('states: exactly the moves of docs/reference/api.md#states', async (t) => {
  const allowed: [JobState | null, Trigger, JobState | null][] = [
    [null, 'submit', 'IN_QUEUE'],
    ['IN_QUEUE', 'claim', 'IN_PROGRESS'],
    ['IN_QUEUE', 'cancel', 'CANCELLED'],
    ['IN_QUEUE', 'purge', null],
    ['IN_QUEUE', 'expire', null],
    ['IN_PROGRESS', 'complete', 'COMPLETED'],
    ['IN_PROGRESS', 'fail', 'FAILED'],
    ['IN_PROGRESS', 'time out', 'TIMED_OUT'],
    ['IN_PROGRESS', 'cancel', 'CANCELLED'],
    ['IN_PROGRESS', 'lose', 'IN_QUEUE'],
    ['IN_PROGRESS', 'return', 'IN_QUEUE'],
    ['IN_PROGRESS', 'expire', null],
    ['COMPLETED', 'expire', null],
    ['CANCELLED', 'expire', null],
    ['FAILED', 'retry', 'IN_QUEUE'],
    ['FAILED', 'expire', null],
    ['TIMED_OUT', 'retry', 'IN_QUEUE'],
    ['TIMED_OUT', 'expire', null],
  ];
  for (const [from, trigger, to] of allowed) t.equal(nextState(from, trigger), to, `${from} ${trigger}`);
  t.equal(TRANSITIONS.length, allowed.length, 'and no other');
  t.same(JOB_STATES.filter(isFinal), ['COMPLETED', 'FAILED', 'CANCELLED', 'TIMED_OUT']);
  t.same(
    JOB_STATES.filter((state) => nextState(state, 'retry') !== undefined),
    ['FAILED', 'TIMED_OUT'],
  );
  t.same(JOB_STATES.filter(canCancel), ['IN_QUEUE', 'IN_PROGRESS']);
});

t.test('policy: defaults and both ends of every bound (docs/reference/api.md#policy)', async (t) => {
  t.same(resolvePolicy({}, 600_000), { executionTimeoutMs: 600_000, lowPriority: false, ttlMs: 86_400_000 });
  t.same(resolvePolicy({ lowPriority: true, ttlMs: 10_000, executionTimeoutMs: 5_000 }, 1), {
    executionTimeoutMs: 5_000,
    lowPriority: true,
    ttlMs: 10_000,
  });
  t.match(resolvePolicy({ ttlMs: 604_800_000, executionTimeoutMs: 604_800_000 }, 1), { ttlMs: 604_800_000 });
  for (const executionTimeoutMs of [4_999, 604_800_001, 5_000.5, NaN, -1, 0, Infinity]) {
    t.throws(
      () => resolvePolicy({ executionTimeoutMs }, 600_000),
      /policy\.executionTimeout/,
      String(executionTimeoutMs),
    );
  }
  for (const ttlMs of [9_999, 604_800_001, 10_000.5, NaN, 0])
    t.throws(() => resolvePolicy({ ttlMs }, 600_000), /policy\.ttl/, String(ttlMs));
  for (const ttlMs of [1, 6_000, 604_800_000]) t.doesNotThrow(() => checkRemainingLife(ttlMs), String(ttlMs));
  for (const ttlMs of [0, -5, 1.5, 604_800_001]) t.throws(() => checkRemainingLife(ttlMs), /ttl/, String(ttlMs));
});

t.test('retention: 30 minutes, or the wait within 1 to 5 minutes', async (t) => {
  t.equal(retentionMs('ASYNC', 300_000), 1_800_000);
  for (const [waitMs, keptMs] of [
    [1_000, 60_000],
    [60_000, 60_000],
    [60_001, 60_001],
    [90_000, 90_000],
    [300_000, 300_000],
    [900_000, 300_000],
  ] as const) {
    t.equal(retentionMs('SYNC', waitMs), keptMs, String(waitMs));
  }
});

t.test('ids carry their kind', async (t) => {
  const uuid = '123e4567-e89b-42d3-a456-426614174000';
  t.equal(jobId('ASYNC', uuid), `${uuid}-u1`);
  t.equal(jobId('SYNC', uuid.toUpperCase()), `sync-${uuid}-u1`);
  for (const text of [
    '',
    'x',
    uuid.slice(1),
    `${uuid}0`,
    `{${uuid}}`,
    `${uuid}\n`,
    '../../../../../../../../../../../../x',
  ]) {
    t.throws(() => jobId('ASYNC', text), /UUID/, JSON.stringify(text));
  }
  t.ok(isJobId(`${uuid}-u1`));
  t.ok(isJobId(`sync-${uuid}-u1`));
  for (const text of ['', uuid, `sync-${uuid}`, `${uuid}-u2`, `test-${uuid}-u1`, `${uuid}-u1\n`])
    t.notOk(isJobId(text), JSON.stringify(text));
});

t.test('outcomes: what each does to its job', async (t) => {
  const rules = { retryLimit: 2, retryHandlerErrors: false };
  const cases: [OutcomeKind, boolean, OutcomeRule][] = [
    ['COMPLETED', false, { requeueBelow: 0, counted: false, final: 'COMPLETED' }],
    ['COMPLETED', true, { requeueBelow: 0, counted: false, final: 'COMPLETED' }],
    ['FAILED', false, { requeueBelow: 0, counted: true, final: 'FAILED' }],
    ['FAILED', true, { requeueBelow: 2, counted: true, final: 'FAILED' }],
    ['LOST', false, { requeueBelow: 2, counted: true, final: 'FAILED' }],
    ['STOPPED', false, { requeueBelow: 2, counted: true, final: 'FAILED' }],
    ['RETURNED', false, { requeueBelow: ALWAYS, counted: false, final: 'FAILED' }],
  ];
  for (const [kind, retryHandlerErrors, expected] of cases) {
    t.same(outcomeRule(kind, { ...rules, retryHandlerErrors }), expected, `${kind} ${retryHandlerErrors}`);
  }
  const outOfMemory = { requeueBelow: 0, counted: true, final: 'FAILED' };
  t.same(
    outcomeRule('LOST', { ...rules, retryHandlerErrors: true }, true),
    outOfMemory,
    'never again on the same size',
  );
  t.equal(lossText('exit code 137', 'LOST'), 'exit code 137');
  t.equal(lossText('', 'LOST'), 'the worker was lost');
  t.match(lossText('', 'STOPPED'), /stopped/);
});

t.test('queue length: more than 50 and more than 500 for each worker', async (t) => {
  for (const [workersMax, max] of [
    [0, 50],
    [1, 500],
    [3, 1_500],
    [1_000, 500_000],
  ] as const)
    t.equal(queueLengthMax(workersMax), max);
});

t.test('the engine and the wire have the same limits', async (t) => {
  t.same(limits.PAYLOAD_BYTES_MAX, { ASYNC: wire.RUN_PAYLOAD_BYTES_MAX, SYNC: wire.RUNSYNC_PAYLOAD_BYTES_MAX });
  t.same([limits.OUTPUT_BYTES_MAX, limits.CHUNK_BYTES_MAX], [wire.OUTPUT_BYTES_MAX, wire.CHUNK_BYTES_MAX]);
  t.equal(limits.INPUT_DEPTH_MAX, wire.INPUT_DEPTH_MAX);
  t.equal(limits.IDEMPOTENCY_KEY_LENGTH_MAX, wire.IDEMPOTENCY_KEY_LENGTH_MAX);
  t.equal(limits.WAIT_MS_MAX, wire.WAIT_MS_MAX);
  t.equal(limits.INLINE_INPUT_BYTES_MAX, wire.SIDE_STREAM_BYTES_MIN);
  t.equal(DRAFT_REQUESTS_MAX, wire.DRAFT_REQUESTS_MAX);
});
