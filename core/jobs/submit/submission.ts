/** A job as a caller submits it. */

import type { PolicyRequest } from '../../domain/jobs/job-policy.ts';
import type { SubmitKind } from '../../domain/jobs/retention.ts';

/** A job to submit. */
export interface Submission {
  endpointId: string;
  /** A UUID; empty if core is to make one. */
  requestId: string;
  kind: SubmitKind;
  /** JSON text. */
  input: Buffer;
  /** Empty if there is none. */
  webhook: string;
  policy: PolicyRequest;
  /** Encoded S3Config message; `undefined` if there is none. */
  s3Config: Buffer | undefined;
  /** For SYNC: how long the caller will wait, in milliseconds. */
  waitMs: number;
  /** Empty if there is none. */
  idempotencyKey: string;
  /** W3C trace context, if the trace is sampled. */
  traceparent?: string | undefined;
  /** Pairs to find the job by. */
  metadata?: Readonly<Record<string, string>> | undefined;
  /** True if the caller never sent it before: only then it may run before it is stored. Default false. */
  isFirstSend?: boolean;
}
