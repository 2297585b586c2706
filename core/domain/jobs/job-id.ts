/** Identifiers of jobs (docs/reference/api.md#identifiers). The prefix shows how the job was submitted. */
import { DomainError } from '../settings/errors.ts';
import type { SubmitKind } from './retention.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const JOB_ID = /^(sync-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}-u1$/;

/**
 * Returns the id of a job: `<uuid>-u1`, or `sync-<uuid>-u1` for /runsync. Throws INVALID_REQUEST if the caller's
 * request id is not a UUID.
 */
export function jobId(kind: SubmitKind, requestId: string): string {
  const uuid = requestId.toLowerCase();
  if (!UUID.test(uuid))
    throw new DomainError(
      'INVALID_REQUEST',
      'request_id must be a UUID like 123e4567-e89b-42d3-a456-426614174000, or empty',
    );
  return kind === 'SYNC' ? `sync-${uuid}-u1` : `${uuid}-u1`;
}

/** Returns whether a text has the form of a job id. If not, the database need not be asked. */
export function isJobId(text: string): boolean {
  return JOB_ID.test(text);
}
