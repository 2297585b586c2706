/** Checks a submission and turns it into a row to insert. Nothing is stored here. */
import { createHash } from 'node:crypto';
import { isUtf8 } from 'node:buffer';
import { IDEMPOTENCY_KEY_LENGTH_MAX, INPUT_DEPTH_MAX, PAYLOAD_BYTES_MAX } from '../domain/job-limits.ts';
import { DomainError } from '../domain/errors.ts';
import { jobId } from '../domain/job-id.ts';
import { resolvePolicy } from '../domain/job-policy.ts';
import { retentionMs } from '../domain/retention.ts';
import { s3ConfigIdentity } from '../domain/sealed-identity.ts';
import { checkWebhookUrl, mayCallPrivate } from '../domain/webhook-url.ts';
import type { PrivateWebhooks } from '../domain/webhook-url.ts';
import type { Random } from '../runtime/clock.ts';
import { scanRawObject } from '../runtime/raw-json.ts';
import type { Sealer } from '../runtime/seal.ts';
import type { EndpointFacts } from '../store/count-store.ts';
import type { NewJob } from '../store/insert-store.ts';
import type { Submission } from './job-engine.ts';

/** What preparing needs. */
export interface PrepareOptions {
  random: Random;
  sealer: Sealer;
  /** Whose webhooks may point to private addresses. */
  webhookAllowPrivate: PrivateWebhooks;
}

/** An Idempotency-Key and what was submitted with it, as hashes. */
export interface KeyHashes {
  keyHash: Buffer;
  bodyHash: Buffer;
}

/** Makes the row. DomainError: INVALID_REQUEST, INVALID_INPUT, PAYLOAD_TOO_LARGE, INVALID_POLICY, INVALID_WEBHOOK or WRONG_ENDPOINT_TYPE. */
export function prepareJob(submission: Submission, facts: EndpointFacts, options: PrepareOptions): NewJob {
  if (facts.type !== 'QB') {
    throw new DomainError('WRONG_ENDPOINT_TYPE', 'This is a load-balancing endpoint: it has no queue. Send requests to its workers instead.');
  }
  const { endpointId, kind, input } = submission;
  checkInput(input, PAYLOAD_BYTES_MAX[kind]);
  const policy = resolvePolicy(submission.policy, facts.executionTimeoutMs);
  const allowPrivate = mayCallPrivate(options.webhookAllowPrivate, { id: facts.accountId, name: facts.accountName });
  const id = jobId(kind, submission.requestId === '' ? options.random.uuid() : submission.requestId);
  return {
    endpointId,
    id,
    ...policy,
    retentionMs: retentionMs(kind, submission.waitMs),
    input,
    webhook: submission.webhook === '' ? undefined : checkWebhookUrl(submission.webhook, allowPrivate),
    s3ConfigSealed: submission.s3Config && options.sealer.seal(submission.s3Config, s3ConfigIdentity(endpointId, id)),
  };
}

/** Hashes of a submission with an Idempotency-Key. The wait is no part of the body. INVALID_REQUEST: the key is too long. */
export function hashSubmission(submission: Submission): KeyHashes {
  const { idempotencyKey, kind, webhook, policy, input, s3Config } = submission;
  if (idempotencyKey.length > IDEMPOTENCY_KEY_LENGTH_MAX) {
    throw new DomainError('INVALID_REQUEST', `Idempotency-Key has ${idempotencyKey.length} characters, but may have ${IDEMPOTENCY_KEY_LENGTH_MAX}`);
  }
  const head = JSON.stringify([kind, webhook, policy.executionTimeoutMs ?? null, policy.lowPriority ?? null, policy.ttlMs ?? null, input.length]);
  const bodyHash = createHash('sha256').update(head).update(input).update(s3Config ?? '').digest();
  return { keyHash: createHash('sha256').update(idempotencyKey).digest(), bodyHash };
}

/** INVALID_INPUT: not a JSON object. PAYLOAD_TOO_LARGE. */
function checkInput(input: Buffer, bytesMax: number): void {
  if (input.length > bytesMax) throw new DomainError('PAYLOAD_TOO_LARGE', `input has ${input.length} bytes, but may have ${bytesMax}`);
  if (!isUtf8(input) || !isJsonObject(input.toString())) throw new DomainError('INVALID_INPUT', 'input must be a JSON object');
  // Every level takes at least two bytes, so a short text needs no scan.
  if (input.length >= 2 * INPUT_DEPTH_MAX && scanRawObject(input).depth > INPUT_DEPTH_MAX) {
    throw new DomainError('INVALID_INPUT', `input is nested deeper than ${INPUT_DEPTH_MAX} levels`);
  }
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
