/** Validates a submission and makes the row to insert. Stores nothing. */

import type { Hash } from 'node:crypto';
import { createHash } from 'node:crypto';
import { scanJson } from '@slipway/kit/bytes/json-scan';
import { orderedUuid } from '@slipway/kit/bytes/ordered-uuid';
import type { Work } from '@slipway/kit/bytes/sliced-work';
import type { Sealer } from '@slipway/kit/host/seal';
import { isPrivateHost } from '@slipway/kit/net/private-address';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { jobId } from '../../domain/jobs/job-id.ts';
import {
  IDEMPOTENCY_KEY_LENGTH_MAX,
  INLINE_INPUT_BYTES_MAX,
  INPUT_DEPTH_MAX,
  PAYLOAD_BYTES_MAX,
  S3_CONFIG_BYTES_MAX,
} from '../../domain/jobs/job-limits.ts';
import { metadataText } from '../../domain/jobs/job-metadata.ts';
import { resolvePolicy } from '../../domain/jobs/job-policy.ts';
import { retentionMs } from '../../domain/jobs/retention.ts';
import type { PrivateWebhooks } from '../../domain/jobs/webhook-url.ts';
import { checkWebhookUrl, mayCallPrivate } from '../../domain/jobs/webhook-url.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import { s3ConfigIdentity, webhookIdentity } from '../../domain/settings/sealed-identity.ts';
import type { EndpointFacts } from '../../store/jobs/count-store.ts';
import type { NewJob } from '../../store/jobs/inserted-rows.ts';
import type { Submission } from './submission.ts';

export interface PrepareOptions {
  clock: Clock;
  random: Random;
  sealer: Sealer;
  /** Accounts whose webhooks may point to private addresses. */
  webhookAllowPrivate: PrivateWebhooks;
}

/** Hashes of an Idempotency-Key and of the body submitted with it. */
export interface KeyHashes {
  keyHash: Buffer;
  bodyHash: Buffer;
}

/** A validated submission that is not stored yet. */
export interface PreparedJob {
  job: NewJob;
  /** `undefined` if the submission has no Idempotency-Key. */
  hashes: KeyHashes | undefined;
  /** True if it may run before it is stored: a /runsync that only its caller waits for. */
  mayRunEarly: boolean;
}

/** Bytes hashed in one slice, some 0.2 ms of work. */
const HASH_BYTES = 128 * 1024;

/**
 * Returns the row. Throws INVALID_REQUEST, INVALID_INPUT, PAYLOAD_TOO_LARGE, INVALID_POLICY, INVALID_WEBHOOK or
 * WRONG_ENDPOINT_TYPE.
 */
export function* prepareJob(submission: Submission, facts: EndpointFacts, options: PrepareOptions): Work<PreparedJob> {
  if (facts.type !== 'QB') {
    throw new DomainError(
      'WRONG_ENDPOINT_TYPE',
      'This is a load-balancing endpoint: it has no queue. Send requests to its workers instead.',
    );
  }
  const { endpointId, kind, input, s3Config } = submission;
  yield* checkInput(input, PAYLOAD_BYTES_MAX[kind]);
  if (s3Config && s3Config.length > S3_CONFIG_BYTES_MAX) {
    throw new DomainError(
      'INVALID_REQUEST',
      `s3Config has ${s3Config.length} bytes, but may have ${S3_CONFIG_BYTES_MAX}`,
    );
  }
  const policy = resolvePolicy(submission.policy, facts.executionTimeoutMs);
  const metadata = metadataText(submission.metadata);
  const allowPrivate = mayCallPrivate(options.webhookAllowPrivate, { id: facts.accountId, name: facts.accountName });
  const id = jobId(kind, submission.requestId === '' ? orderedUuid(options) : submission.requestId);
  const job = {
    endpointId,
    id,
    ...policy,
    retentionMs: retentionMs(kind, submission.waitMs),
    input,
    webhookSealed:
      submission.webhook === ''
        ? undefined
        : options.sealer.seal(
            Buffer.from(checkWebhookUrl(submission.webhook, allowPrivate, isPrivateHost)),
            webhookIdentity(endpointId, id),
          ),
    s3ConfigSealed: s3Config && options.sealer.seal(s3Config, s3ConfigIdentity(endpointId, id)),
    traceparent: submission.traceparent,
    metadata,
  };
  const hashes = submission.idempotencyKey === '' ? undefined : yield* hashSubmission(submission, metadata);
  const isPlain = !hashes && !(job.webhookSealed || job.s3ConfigSealed || job.traceparent || job.metadata);
  const isSmall = input.length <= INLINE_INPUT_BYTES_MAX;
  const mayRunEarly = submission.isFirstSend === true && kind === 'SYNC' && isPlain && isSmall;
  return { job, hashes, mayRunEarly: mayRunEarly && !facts.durableBeforeRun };
}

/**
 * Returns the hashes of a submission with an Idempotency-Key. The wait is not part of the body. Throws
 * INVALID_REQUEST if the key is too long.
 */
function* hashSubmission(submission: Submission, metadata: string | undefined): Work<KeyHashes> {
  const { idempotencyKey, kind, webhook, policy, input, s3Config } = submission;
  if (idempotencyKey.length > IDEMPOTENCY_KEY_LENGTH_MAX) {
    throw new DomainError(
      'INVALID_REQUEST',
      `Idempotency-Key has ${idempotencyKey.length} characters, but may have ${IDEMPOTENCY_KEY_LENGTH_MAX}`,
    );
  }
  const head = JSON.stringify([
    kind,
    webhook,
    policy.executionTimeoutMs ?? null,
    policy.lowPriority ?? null,
    policy.ttlMs ?? null,
    input.length,
    // Absent without metadata: hashes of earlier releases stay valid.
    ...(metadata === undefined ? [] : [metadata]),
  ]);
  const body = yield* hashed(createHash('sha256').update(head), input);
  return {
    keyHash: createHash('sha256').update(idempotencyKey).digest(),
    bodyHash: body.update(s3Config ?? '').digest(),
  };
}

function* hashed(hash: Hash, bytes: Buffer): Work<Hash> {
  for (let at = 0; at < bytes.length; at += HASH_BYTES) {
    hash.update(bytes.subarray(at, at + HASH_BYTES));
    if (at > 0) yield;
  }
  return hash;
}

/**
 * Throws INVALID_INPUT if the input is not a JSON object or is nested too deeply, PAYLOAD_TOO_LARGE if it is too
 * large.
 */
function* checkInput(input: Buffer, bytesMax: number): Work<void> {
  if (input.length > bytesMax)
    throw new DomainError('PAYLOAD_TOO_LARGE', `input has ${input.length} bytes, but may have ${bytesMax}`);
  const { fault, kind, depth } = yield* scanJson(input);
  if (fault || kind !== 'object') throw new DomainError('INVALID_INPUT', 'input must be a JSON object');
  if (depth > INPUT_DEPTH_MAX)
    throw new DomainError('INVALID_INPUT', `input is nested deeper than ${INPUT_DEPTH_MAX} levels`);
}
