/** Errors of the facade itself, and the conversion of any error for clients. Internal texts of 5xx are never sent. */
import type { ErrorCode } from '@slipway/kit/net/error-help';
import type { Reason } from '@slipway/proto/wire/reason';
import { CoreError } from '@slipway/proto/wire/reason';
import { HttpRejection } from './http-rejection.ts';

/** A rate or concurrency limit was reached. */
export class TooManyRequests extends CoreError {
  /** Whole seconds until another try makes sense, at least 1. */
  readonly retryAfterSeconds: number;

  constructor(message: string, retryAfterSeconds: number) {
    super('RATE_LIMITED', message);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The body did not arrive in time; the connection cannot be used any more. */
export class SlowBody extends CoreError {
  constructor(message: string) {
    super('INVALID_REQUEST', message);
  }
}

/** An error as clients see it. */
export interface PublicError {
  /** HTTP status. */
  status: number;
  /** Machine-readable code, lower case. */
  code: ErrorCode;
  /** Message. */
  text: string;
  /** Seconds for the Retry-After header. */
  retryAfterSeconds: number | undefined;
  /** Faults of the request. */
  faults?: readonly string[] | undefined;
}

const TEXT_500 =
  'Something went wrong inside the service. The operator finds the cause in its log, by the ' +
  'X-Request-Id of this answer.';
const TEXT_503 = 'The service is not reachable right now; try again shortly.';

/** Returns any thrown value as a CoreError. Errors of the HTTP framework that the client caused keep their text. */
export function toCoreError(error: unknown): CoreError {
  if (error instanceof CoreError) return error;
  const failed = error as { statusCode?: unknown; message?: unknown };
  const status = typeof failed.statusCode === 'number' ? failed.statusCode : 500;
  if (status < 400 || status >= 500) return new CoreError('INTERNAL', String(failed.message), { cause: error });
  return new CoreError(status === 404 ? 'NOT_FOUND' : 'INVALID_REQUEST', String(failed.message), { cause: error });
}

function publicText(status: number, message: string): string {
  if (status === 503) return TEXT_503;
  return status >= 500 ? TEXT_500 : message;
}

/** Converts an error for clients. */
export function publicError(error: CoreError): PublicError {
  const status = error.httpStatus;
  const text = publicText(status, error.message);
  const retryDefault = status === 429 || status === 503 ? 1 : undefined;
  const retryAfterSeconds = error instanceof TooManyRequests ? error.retryAfterSeconds : retryDefault;
  if (error instanceof HttpRejection)
    return { status, code: error.code, text, retryAfterSeconds, faults: error.faults };
  return { status, code: error.reason.toLowerCase() as Lowercase<Reason>, text, retryAfterSeconds };
}
