/** Why a call failed: the closed list of error.proto, its two tables, and how a reason travels inside a gRPC status. */

import type { ServiceError } from '@grpc/grpc-js';
import { status as Code, Metadata } from '@grpc/grpc-js';
import { ErrorInfo } from '../gen/google/rpc/error_details.ts';
import { Status } from '../gen/google/rpc/status.ts';
import type { ErrorReason } from '../gen/slipway/v1/error.ts';

/** Name of a reason without its prefix, for instance JOB_NOT_FOUND. */
export type Reason = Exclude<keyof typeof ErrorReason, 'UNSPECIFIED'>;

/** Status of a reason over gRPC and HTTP. */
interface ReasonMapping {
  /** gRPC status code. */
  grpc: Code;
  /** HTTP status. */
  http: number;
}

/** Total over all reasons: a new one does not compile until it has its row. */
export const REASONS: Record<Reason, ReasonMapping> = {
  INVALID_REQUEST: { grpc: Code.INVALID_ARGUMENT, http: 400 },
  INVALID_INPUT: { grpc: Code.INVALID_ARGUMENT, http: 400 },
  INVALID_POLICY: { grpc: Code.INVALID_ARGUMENT, http: 400 },
  INVALID_WEBHOOK: { grpc: Code.INVALID_ARGUMENT, http: 400 },
  PAYLOAD_TOO_LARGE: { grpc: Code.INVALID_ARGUMENT, http: 400 },
  UNAUTHORIZED: { grpc: Code.UNAUTHENTICATED, http: 401 },
  ENDPOINT_NOT_FOUND: { grpc: Code.NOT_FOUND, http: 404 },
  JOB_NOT_FOUND: { grpc: Code.NOT_FOUND, http: 404 },
  TEMPLATE_NOT_FOUND: { grpc: Code.NOT_FOUND, http: 404 },
  NOT_FOUND: { grpc: Code.NOT_FOUND, http: 404 },
  JOB_NOT_RETRYABLE: { grpc: Code.FAILED_PRECONDITION, http: 400 },
  IDEMPOTENCY_KEY_REUSED: { grpc: Code.FAILED_PRECONDITION, http: 400 },
  WRONG_ENDPOINT_TYPE: { grpc: Code.FAILED_PRECONDITION, http: 400 },
  WORKERS_NOT_ZERO: { grpc: Code.FAILED_PRECONDITION, http: 400 },
  IN_USE: { grpc: Code.FAILED_PRECONDITION, http: 400 },
  NAME_TAKEN: { grpc: Code.ALREADY_EXISTS, http: 400 },
  RATE_LIMITED: { grpc: Code.RESOURCE_EXHAUSTED, http: 429 },
  QUEUE_FULL: { grpc: Code.RESOURCE_EXHAUSTED, http: 429 },
  UNAVAILABLE: { grpc: Code.UNAVAILABLE, http: 503 },
  INTERNAL: { grpc: Code.INTERNAL, http: 500 },
  NO_CAPACITY: { grpc: Code.FAILED_PRECONDITION, http: 400 },
  POD_FIXED: { grpc: Code.FAILED_PRECONDITION, http: 400 },
  WEBHOOK_NOT_REDRIVABLE: { grpc: Code.FAILED_PRECONDITION, http: 400 },
  MODEL_NOT_FOUND: { grpc: Code.NOT_FOUND, http: 404 },
};

/** A failed call, as the caller of core sees it. */
export class CoreError extends Error {
  readonly reason: Reason;

  constructor(reason: Reason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CoreError';
    this.reason = reason;
  }

  /** HTTP status that belongs to the reason. */
  get httpStatus(): number {
    return REASONS[this.reason].http;
  }
}

const DOMAIN = 'slipway';
const ERROR_INFO_TYPE = 'type.googleapis.com/google.rpc.ErrorInfo';
const STATUS_DETAILS_KEY = 'grpc-status-details-bin';
/** Metadata key of a status with UNAVAILABLE: see PipelineError.database_away. */
const DATABASE_AWAY_KEY = 'x-slipway-database-away';

/**
 * Maximum length of a status text in characters. Headers contain it twice, with up to 13 bytes per character. A peer
 * that gets more than 64 KiB of headers closes the connection, and with it all other calls on it.
 */
const TEXT_LENGTH_MAX = 4_000;

/**
 * Returns the status of a failed unary call: code, text and a google.rpc.Status detail with the reason. A text longer
 * than TEXT_LENGTH_MAX is cut.
 */
export function toGrpcStatus(reason: Reason, message: string): { code: Code; details: string; metadata: Metadata } {
  const code = REASONS[reason].grpc;
  const metadata = new Metadata();
  const details =
    message.length > TEXT_LENGTH_MAX ? `${message.slice(0, TEXT_LENGTH_MAX - 1).toWellFormed()}…` : message;
  metadata.set(STATUS_DETAILS_KEY, encodeStatus(code, details, reason));
  return { code, details, metadata };
}

/** Marks the status of a call that failed because the database is away. */
export function markDatabaseAway(metadata: Metadata): void {
  metadata.set(DATABASE_AWAY_KEY, 'true');
}

/** Returns whether a failed call says that its replica's database is away. */
export function saysDatabaseAway(error: unknown): boolean {
  const { metadata } = error as Partial<ServiceError>;
  return metadata?.get(DATABASE_AWAY_KEY)[0] === 'true';
}

/**
 * Reads a failed call. A status without a reason, for instance of a broken connection, becomes UNAVAILABLE or INTERNAL.
 */
export function fromGrpcError(error: unknown): CoreError {
  if (error instanceof CoreError) return error;
  const failed = error as Partial<ServiceError>;
  const details = failed.metadata?.get(STATUS_DETAILS_KEY)[0];
  const reason = details instanceof Uint8Array ? decodeReason(details) : undefined;
  if (reason !== undefined) return new CoreError(reason, failed.details ?? reason, { cause: error });
  if (failed.code === Code.UNAVAILABLE || failed.code === Code.CANCELLED || failed.code === Code.DEADLINE_EXCEEDED) {
    return new CoreError('UNAVAILABLE', 'The service is not reachable right now; try again shortly.', { cause: error });
  }
  return new CoreError('INTERNAL', failed.details ?? failed.message ?? 'unknown fault', { cause: error });
}

/** Returns the reason of this name; INTERNAL if this version does not know it. */
export function reasonFromName(name: string): Reason {
  return name in REASONS ? (name as Reason) : 'INTERNAL';
}

function encodeStatus(code: number, message: string, reason: string): Buffer {
  const info = ErrorInfo.encode({ reason, domain: DOMAIN, metadata: {} }).finish();
  return Buffer.from(
    Status.encode({ code, message, details: [{ typeUrl: ERROR_INFO_TYPE, value: Buffer.from(info) }] }).finish(),
  );
}

/**
 * Returns the reason in a status detail; `undefined` if there is none, for instance because a proxy wrote the status.
 */
function decodeReason(bytes: Uint8Array): Reason | undefined {
  try {
    const info = Status.decode(bytes).details.find(({ typeUrl }) => typeUrl === ERROR_INFO_TYPE);
    return info && reasonFromName(ErrorInfo.decode(info.value).reason);
  } catch {
    return undefined;
  }
}
