// test: alone
/** Messages with large texts: the same fields as the generated encoder writes, with one copy of the text. */

import { workNow } from '@slipway/kit/bytes/sliced-work';
import {
  decodeSubmitJobRequest,
  encodePipelineResponse,
  encodeSubmitJobRequest,
  prepareSubmitJobRequest,
} from '@slipway/kit/net/large-message';
import { encodeFetchInputResponse, encodeReportOutcomeRequest } from '@slipway/kit/net/piece-messages';
import { FetchInputResponse, OutcomeKind, ReportOutcomeRequest } from '@slipway/proto/gen/slipway/v1/agent_service';
import { Job, JobState, SubmitKind } from '@slipway/proto/gen/slipway/v1/job';
import { PipelineResponse, SubmitJobRequest } from '@slipway/proto/gen/slipway/v1/job_service';
import t from 'tap';

const BYTES = 10_000_000;
/** The generated encoder takes some ten times as long as a copy. */
const COPIES_MAX = 4;
const TRIES = 8;

const large = Buffer.alloc(BYTES, 'a');
const middling = large.subarray(0, 100_000);
const job = Job.create({
  id: 'j',
  endpointId: 'e',
  state: JobState.COMPLETED,
  error: 'no',
  delayMs: 5,
  executionMs: 6,
  retries: 1,
  workerId: 'w',
  attempt: 2,
  submitTime: new Date(1_000),
  finishTime: new Date(2_000),
});
const responseWith = (output: Buffer): PipelineResponse => ({
  replies: [
    { callId: 1, reply: { $case: 'get', value: { job: { ...job, output: Buffer.from('{}') } } } },
    { callId: 2, reply: { $case: 'get', value: { job: { ...job, output } } } },
    {
      callId: 3,
      reply: { $case: 'error', value: { code: 5, reason: 'JOB_NOT_FOUND', message: 'no', databaseAway: false } },
    },
    { callId: 4, reply: { $case: 'wait', value: { job: { ...job, output } } } },
  ],
});

t.test('reading returns the written message', async (t) => {
  const response = responseWith(middling);
  t.same(
    PipelineResponse.decode(encodePipelineResponse(response)),
    PipelineResponse.decode(PipelineResponse.encode(response).finish()),
  );
  const request = SubmitJobRequest.create({
    endpointId: 'e',
    requestId: 'r',
    kind: SubmitKind.SYNC,
    input: middling,
    webhook: 'http://w',
    policy: { ttlMs: 7 },
    waitMs: 8,
    idempotencyKey: 'i',
  });
  for (const input of [middling, Buffer.from('{}')]) {
    const sent = { ...request, input };
    const encoded = encodeSubmitJobRequest(sent);
    t.same(SubmitJobRequest.decode(encoded), sent);
    t.same(decodeSubmitJobRequest(encoded), sent);
    t.same(decodeSubmitJobRequest(Buffer.from(SubmitJobRequest.encode(sent).finish())), sent, 'fields in order');
    workNow(prepareSubmitJobRequest(sent));
    t.equal(encodeSubmitJobRequest(sent), encodeSubmitJobRequest(sent), 'it was encoded before');
    t.same(SubmitJobRequest.decode(encodeSubmitJobRequest(sent)), sent);
  }
  for (const cut of [50_000, 99_999]) {
    const part = encodeSubmitJobRequest({ ...request, input: middling }).subarray(0, cut);
    t.throws(() => decodeSubmitJobRequest(part), 'a message that broke off');
  }
});

t.test('a large input is prepared in short steps and read without a copy', async (t) => {
  const request = SubmitJobRequest.create({ endpointId: 'e', input: large });
  let steps = 0;
  for (const work = prepareSubmitJobRequest(request); !work.next().done; ) steps += 1;
  t.ok(steps >= BYTES / (256 * 1024), `${steps} steps`);
  const encoded = encodeSubmitJobRequest(request);
  const { input } = decodeSubmitJobRequest(encoded);
  t.equal(input.buffer, encoded.buffer, 'a view');
  t.ok(input.equals(large));
});

t.test('an input that is a small part of its message does not keep the rest in memory', async (t) => {
  const small = Buffer.alloc(20_000, 'a');
  const encoded = encodeSubmitJobRequest(SubmitJobRequest.create({ input: small, webhook: 'w'.repeat(1_000_000) }));
  const { input } = decodeSubmitJobRequest(encoded);
  t.not(input.buffer, encoded.buffer);
  t.ok(input.equals(small));
});

t.test('pieces', async (t) => {
  const ref = { endpointId: 'e', jobId: 'j', attempt: 1, workerId: 'w' };
  const outcome = { ref, kind: OutcomeKind.FAILED, output: undefined, error: 'no', executionMs: 5 };
  for (const piece of [middling, Buffer.alloc(0)]) {
    t.same(FetchInputResponse.decode(encodeFetchInputResponse({ piece })), { piece });
    for (const request of [
      { outcome, piece },
      { outcome: undefined, piece },
    ]) {
      t.same(
        ReportOutcomeRequest.decode(encodeReportOutcomeRequest(request)),
        ReportOutcomeRequest.decode(ReportOutcomeRequest.encode(request).finish()),
      );
    }
  }
});

t.test('a large text is copied once, in any field', async (t) => {
  const quickest = (work: () => void): number =>
    Math.min(
      ...Array.from({ length: TRIES }, () => {
        const { user, system } = process.cpuUsage();
        const startedMs = performance.now();
        work();
        const used = process.cpuUsage({ user, system });
        return Math.min(performance.now() - startedMs, (used.user + used.system) / 1_000);
      }),
    );
  const copyMs = quickest(() => Buffer.concat([large]));
  const encodedMs = quickest(() => encodePipelineResponse({ replies: responseWith(large).replies.slice(-1) }));
  t.ok(encodedMs < COPIES_MAX * copyMs, `${encodedMs.toFixed(1)} ms, a copy ${copyMs.toFixed(1)} ms`);
});
