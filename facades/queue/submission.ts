/**
 * Reads the body of /run and /runsync (spec.md 2.1 to 2.3, compat.md 1.5). Types are checked here, ranges are core's to decide. `input`
 * travels on as the bytes the client sent; unknown members are dropped.
 */
import type { JobPolicy, S3Config } from '../../proto/gen/slipway/v1/job.ts';
import type { SubmitJobRequest } from '../../proto/gen/slipway/v1/job_service.ts';
import { rawMember } from '../../core/runtime/raw-json.ts';
import { IDEMPOTENCY_KEY_LENGTH_MAX, INPUT_DEPTH_MAX } from '../../proto/wire/limits.ts';
import { CoreError } from '../../proto/wire/reason.ts';
import type { Reason } from '../../proto/wire/reason.ts';
import { isPlainObject, parseJsonObject } from '../plugins/json-body.ts';

/** What the client's body and headers decide; the route adds the rest. */
export type Submission = Pick<SubmitJobRequest, 'input' | 'webhook' | 'policy' | 's3Config' | 'idempotencyKey'>;

/** Control characters have no place in addresses, names and keys, and PostgreSQL refuses NUL. */
const CONTROL = /[\u0000-\u001f\u007f]/;

/** Reads a submission; throws CoreError. `idempotencyKey` is the Idempotency-Key header as Node gives it. */
export function readSubmission(body: Buffer, idempotencyKey: string | string[] | undefined): Submission {
  const { values, raw } = parseJsonObject(body);
  const input = rawMember(body, raw, 'input');
  if (input === undefined || !isPlainObject(values['input'])) {
    throw new CoreError('INVALID_INPUT', 'The body must have a member "input" that is a JSON object.');
  }
  // The outer object counts one.
  if (raw.depth > INPUT_DEPTH_MAX + 1) throw new CoreError('INVALID_INPUT', `"input" is nested more than ${INPUT_DEPTH_MAX} deep.`);
  return {
    input,
    webhook: readWebhook(values),
    policy: readPolicy(values['policy']),
    s3Config: readS3Config(values['s3Config']),
    idempotencyKey: readIdempotencyKey(idempotencyKey),
  };
}

function readWebhook(values: Record<string, unknown>): string {
  const webhook = values['webhook'];
  if (webhook !== undefined && webhook !== null) return text(webhook, '"webhook"', 'INVALID_WEBHOOK');
  // Meaning unpublished: the same as `webhook`, and never a reason to refuse.
  const second = values['webhookV2'];
  return typeof second === 'string' && !CONTROL.test(second) ? second : '';
}

function readPolicy(policy: unknown): JobPolicy | undefined {
  if (policy === undefined || policy === null) return undefined;
  if (!isPlainObject(policy)) throw new CoreError('INVALID_POLICY', '"policy" must be an object.');
  return {
    executionTimeoutMs: milliseconds(policy['executionTimeout'], '"policy.executionTimeout"'),
    lowPriority: flag(policy['lowPriority'], '"policy.lowPriority"'),
    ttlMs: milliseconds(policy['ttl'], '"policy.ttl"'),
  };
}

function readS3Config(settings: unknown): S3Config | undefined {
  if (settings === undefined || settings === null) return undefined;
  if (!isPlainObject(settings)) throw new CoreError('INVALID_REQUEST', '"s3Config" must be an object.');
  const member = (name: string): string => {
    const value = settings[name];
    return value === undefined || value === null ? '' : text(value, `"s3Config.${name}"`, 'INVALID_REQUEST');
  };
  return {
    accessId: member('accessId'),
    accessSecret: member('accessSecret'),
    bucketName: member('bucketName'),
    endpointUrl: member('endpointUrl'),
    objectPath: member('objectPath'),
  };
}

function readIdempotencyKey(header: string | string[] | undefined): string {
  if (header === undefined) return '';
  if (typeof header !== 'string' || header.length < 1 || header.length > IDEMPOTENCY_KEY_LENGTH_MAX || CONTROL.test(header)) {
    throw new CoreError('INVALID_REQUEST', `Idempotency-Key must have 1 to ${IDEMPOTENCY_KEY_LENGTH_MAX} printable characters.`);
  }
  return header;
}

function text(value: unknown, name: string, reason: Reason): string {
  if (typeof value !== 'string') throw new CoreError(reason, `${name} must be a string.`);
  if (CONTROL.test(value)) throw new CoreError(reason, `${name} holds a control character.`);
  return value;
}

function milliseconds(value: unknown, name: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Number.isSafeInteger(value)) throw new CoreError('INVALID_POLICY', `${name} must be a whole number of milliseconds.`);
  return value as number;
}

function flag(value: unknown, name: string): boolean | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'boolean') throw new CoreError('INVALID_POLICY', `${name} must be true or false.`);
  return value;
}
