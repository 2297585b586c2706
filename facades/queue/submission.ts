/**
 * Reads the body of /run and /runsync (docs/reference/api.md#submit, docs/reference/api.md#s3-settings). Types are
 * checked here, ranges are core's to decide. `input` travels on as the bytes the client sent; unknown members are
 * dropped.
 */

import { kindAt } from '@slipway/kit/bytes/json-bytes';
import type { JsonScan } from '@slipway/kit/bytes/json-scan';
import type { Work } from '@slipway/kit/bytes/sliced-work';
import type { JobMetadata, JobPolicy, S3Config } from '@slipway/proto/gen/slipway/v1/job';
import type { SubmitJobRequest } from '@slipway/proto/gen/slipway/v1/job_service';
import { INPUT_DEPTH_MAX } from '@slipway/proto/wire/limits';
import type { Reason } from '@slipway/proto/wire/reason';
import { CoreError } from '@slipway/proto/wire/reason';
import { isPlainObject, scanObject } from '../plugins/bodies/json-body.ts';
import { readIdempotencyKey } from '../plugins/idempotency-key.ts';

/** Part of a submission that comes from the body and headers. */
type SubmittedBody = Pick<
  SubmitJobRequest,
  'input' | 'webhook' | 'policy' | 's3Config' | 'idempotencyKey' | 'metadata'
>;

/** Control characters are invalid in addresses, names and keys, and PostgreSQL rejects NUL. */
const CONTROL = /[\u0000-\u001f\u007f]/;

const MEMBERS = ['input', 'webhook', 'webhookV2', 'policy', 's3Config', 'metadata'];
/** Longest text of a member other than `input` in bytes. */
const SETTING_BYTES_MAX = 16 * 1024;
/** Longest text of `metadata` in bytes: the largest fits, however its characters are written. */
const METADATA_BYTES_MAX = 96 * 1024;

/** Reads a submission; throws CoreError. `idempotencyKey` is the Idempotency-Key header as Node gives it. */
export function* readSubmission(body: Buffer, idempotencyKey: string | string[] | undefined): Work<SubmittedBody> {
  const scan = yield* scanObject(body, MEMBERS);
  const input = scan.member('input');
  if (input === undefined || kindAt(input, 0) !== 'object') {
    throw new CoreError('INVALID_INPUT', 'The body must have a member "input" that is a JSON object.');
  }
  // The outer object counts one.
  if (scan.depth > INPUT_DEPTH_MAX + 1)
    throw new CoreError(
      'INVALID_INPUT',
      `"input", or a member beside it, is nested more than ${INPUT_DEPTH_MAX} deep.`,
    );
  return {
    input,
    webhook: readWebhook(scan),
    policy: readPolicy(setting(scan, 'policy', 'INVALID_POLICY')),
    s3Config: readS3Config(setting(scan, 's3Config', 'INVALID_REQUEST')),
    idempotencyKey: readIdempotencyKey(idempotencyKey),
    metadata: readMetadata(setting(scan, 'metadata', 'INVALID_REQUEST', METADATA_BYTES_MAX)),
  };
}

/** Returns the value of a member. `undefined` if it is absent. */
function setting(scan: JsonScan, name: string, reason: Reason, bytesMax = SETTING_BYTES_MAX): unknown {
  const text = scan.member(name);
  if (text === undefined) return undefined;
  if (text.length > bytesMax)
    throw new CoreError(reason, `"${name}" has ${text.length} bytes, but may have ${bytesMax}.`);
  return JSON.parse(text.toString('utf8')) as unknown;
}

function readWebhook(scan: JsonScan): string {
  const webhook = setting(scan, 'webhook', 'INVALID_WEBHOOK');
  if (webhook !== undefined && webhook !== null) return text(webhook, '"webhook"', 'INVALID_WEBHOOK');
  // The meaning of this member is not published. It is treated as `webhook`, and never causes a rejection.
  if ((scan.member('webhookV2')?.length ?? 0) > SETTING_BYTES_MAX) return '';
  const second = setting(scan, 'webhookV2', 'INVALID_WEBHOOK');
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

/** Reads `metadata`. Core checks number and lengths. A key `__proto__` is rejected: a message would lose it. */
function readMetadata(metadata: unknown): JobMetadata | undefined {
  if (metadata === undefined || metadata === null) return undefined;
  if (!isPlainObject(metadata)) throw new CoreError('INVALID_REQUEST', '"metadata" must be an object of strings.');
  for (const [key, value] of Object.entries(metadata)) {
    const name = `"metadata" member ${JSON.stringify(key.slice(0, 64))}`;
    if (typeof value !== 'string') throw new CoreError('INVALID_REQUEST', `${name} must be a string.`);
    if (key === '__proto__' || !key.isWellFormed() || !value.isWellFormed())
      throw new CoreError('INVALID_REQUEST', `${name} cannot be stored: use another key, and whole characters.`);
  }
  return { pairs: metadata as Record<string, string> };
}

function text(value: unknown, name: string, reason: Reason): string {
  if (typeof value !== 'string') throw new CoreError(reason, `${name} must be a string.`);
  if (CONTROL.test(value)) throw new CoreError(reason, `${name} holds a control character.`);
  // It would reach core as another character.
  if (!value.isWellFormed()) throw new CoreError(reason, `${name} holds half of a surrogate pair, which is no text.`);
  return value;
}

function milliseconds(value: unknown, name: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Number.isSafeInteger(value))
    throw new CoreError('INVALID_POLICY', `${name} must be a whole number of milliseconds.`);
  return value as number;
}

function flag(value: unknown, name: string): boolean | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'boolean') throw new CoreError('INVALID_POLICY', `${name} must be true or false.`);
  return value;
}
