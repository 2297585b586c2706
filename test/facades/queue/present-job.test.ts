/** The public job record (docs/reference/api.md#job-record). */

import {
  presentAccepted,
  presentJob,
  presentListedJob,
  presentReceipt,
  publicStatus,
} from '@slipway/facades/queue/present-job';
import { Job, JobState } from '@slipway/proto/gen/slipway/v1/job';
import t from 'tap';
import { reasonOf } from '../reason-of.ts';

const job = (fields: Partial<Job>): Job => ({ ...Job.create(), id: 'abc-u1', ...fields });

t.test('the six states, and no other', async (t) => {
  const { UNSPECIFIED, ...known } = JobState;
  for (const [name, state] of Object.entries(known)) t.equal(publicStatus(state), name);
  t.equal(
    reasonOf(() => publicStatus(UNSPECIFIED)),
    'INTERNAL',
  );
});

t.test('a queued job has an id and a status and nothing else', async (t) => {
  t.equal(presentJob(job({ state: JobState.IN_QUEUE })), '{"id":"abc-u1","status":"IN_QUEUE"}');
});

t.test('output goes out byte for byte', async (t) => {
  const output = Buffer.from('{ "n": 1.00,\n "big": 12345678901234567890, "\u00e9": "\\ud800" }');
  const text = presentJob(
    job({ state: JobState.COMPLETED, output, delayMs: 12, executionMs: 31, workerId: 'w1' }),
  ).toString();
  t.equal(
    text,
    `{"id":"abc-u1","status":"COMPLETED","delayTime":12,"executionTime":31,"workerId":"w1","output":${output}}`,
  );
  t.ok(JSON.parse(text));
});

t.test('error is a string; retries only when there were some', async (t) => {
  const error = '{"error_type":"<class \'ValueError\'>"}\n"quoted"';
  t.same(JSON.parse(presentJob(job({ state: JobState.FAILED, error, retries: 2 })).toString()), {
    id: 'abc-u1',
    status: 'FAILED',
    error,
    retries: 2,
  });
  t.notMatch(presentJob(job({ state: JobState.FAILED, error })).toString(), 'retries');
});

t.test('zero times are shown', async (t) => {
  t.match(JSON.parse(presentJob(job({ state: JobState.COMPLETED, delayMs: 0, executionMs: 0 })).toString()), {
    delayTime: 0,
    executionTime: 0,
  });
});

t.test('receipts', async (t) => {
  t.equal(presentReceipt('abc-u1', 'CANCELLED'), '{"id":"abc-u1","status":"CANCELLED"}');
  t.match(presentAccepted(job({ state: JobState.IN_PROGRESS })), 'IN_QUEUE', 'taken within the submission');
  t.match(presentAccepted(job({ state: JobState.FAILED })), 'FAILED', 'an earlier job under the same Idempotency-Key');
});

t.test('a listed job is without output, and says when it was submitted', async (t) => {
  const submitTime = new Date('2026-01-02T03:04:05.678Z');
  t.equal(
    presentListedJob(job({ state: JobState.COMPLETED, output: Buffer.from('1'), submitTime })),
    '{"id":"abc-u1","status":"COMPLETED","submittedAt":"2026-01-02T03:04:05.678Z"}',
  );
});
