/**
 * Common parts of all unary calls: the caller's key, errors as statuses with a reason, and a log line for internal
 * errors.
 */
import type { handleUnaryCall, Metadata } from '@grpc/grpc-js';
import { OverloadError } from '@slipway/kit/bytes/batcher';
import type { Logger } from '@slipway/kit/log/logger';
import { markDatabaseAway, toGrpcStatus } from '@slipway/proto/wire/reason';
import type { AgentCredential } from '../../access/agent-key.ts';
import { certificateOf } from '../../access/machine-certificate.ts';
import type { DomainReason } from '../../domain/settings/errors.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import { fromSource } from '../../store/accounts/call-source.ts';
import { DatabaseAwayError, isTransient, isUnstorable } from '../../store/sql/transient.ts';
import { REQUEST_ID_KEY } from './interceptors.ts';
import { sourceOfCall } from './source-of-call.ts';

/** A status as grpc-js sends it. */
type FailedStatus = ReturnType<typeof toGrpcStatus>;

type AgentCall = { metadata: Metadata } & Parameters<typeof certificateOf>[0];

/** Text of internal errors. It has no details; the log has all. */
const INTERNAL_TEXT = 'Something went wrong on our side; it has been logged.';
const UNAVAILABLE_TEXT = 'A part of the service is restarting; try again shortly.';
const AWAY_TEXT = 'The database takes nothing at present; try again later.';
const UNSTORABLE_TEXT = 'The request contains a character that cannot be stored (NUL); leave it out.';
const OVERLOAD_TEXT = 'Too many requests are waiting; try again shortly.';

/** Returns the caller's API key: the value of `authorization`, with or without `Bearer `. Empty if there is none. */
export function keyOf(metadata: Metadata): string {
  const [value] = metadata.get('authorization');
  return typeof value === 'string' ? value.replace(/^bearer +/i, '').trim() : '';
}

/** Returns what an agent's call proves itself by. */
export function credentialOf(call: AgentCall): AgentCredential {
  return { apiKey: keyOf(call.metadata), certificate: certificateOf(call) };
}

interface ShownFailure {
  reason: DomainReason;
  message: string;
  /** The database is away, so other replicas may be no better. */
  databaseAway?: boolean;
}

/** Returns the reason and text of a failure, as a caller may see them. */
export function refusalOf(error: unknown): ShownFailure {
  if (error instanceof DomainError) return { reason: error.reason, message: error.message };
  if (error instanceof OverloadError) return { reason: 'RATE_LIMITED', message: OVERLOAD_TEXT };
  if (error instanceof DatabaseAwayError) return { reason: 'UNAVAILABLE', message: AWAY_TEXT, databaseAway: true };
  if (isTransient(error)) return { reason: 'UNAVAILABLE', message: UNAVAILABLE_TEXT };
  if (isUnstorable(error)) return { reason: 'INVALID_REQUEST', message: UNSTORABLE_TEXT };
  return { reason: 'INTERNAL', message: INTERNAL_TEXT };
}

/** Returns the status of a failure. Internal errors are logged in full and never shown. */
export function statusOf(
  error: unknown,
  call: { getPath(): string; metadata: Metadata },
  logger: Logger,
): FailedStatus {
  const ids = { method: call.getPath(), requestId: call.metadata.get(REQUEST_ID_KEY)[0] };
  const { reason, message, databaseAway } = refusalOf(error);
  if (reason === 'INTERNAL') logger.error({ err: error, ...ids }, 'call failed');
  else if (reason === 'UNAVAILABLE') logger.warn({ err: error, ...ids }, 'call could not be served now');
  const status = toGrpcStatus(reason, message);
  if (databaseAway) markDatabaseAway(status.metadata);
  return status;
}

/** Makes a grpc-js handler of a function that takes the request and what the calling agent proves itself by. */
export function agentUnary<Request, Response>(
  logger: Logger,
  handle: (request: Request, credential: AgentCredential) => Promise<Response>,
): handleUnaryCall<Request, Response> {
  return (call, done) => {
    const answer = async (): Promise<Response> => handle(call.request, credentialOf(call));
    fromSource(() => sourceOfCall(call), answer).then(
      (response) => done(null, response),
      (error: unknown) => done(statusOf(error, call, logger)),
    );
  };
}

/** Makes a grpc-js handler of a function that takes the request and the caller's key. */
export function unary<Request, Response>(
  logger: Logger,
  handle: (request: Request, apiKey: string, metadata: Metadata) => Promise<Response>,
): handleUnaryCall<Request, Response> {
  return (call, done) => {
    const answer = async (): Promise<Response> => handle(call.request, keyOf(call.metadata), call.metadata);
    fromSource(() => sourceOfCall(call), answer).then(
      (response) => done(null, response),
      (error: unknown) => done(statusOf(error, call, logger)),
    );
  };
}
