/** Records refused attempts to change something: wraps the handlers of calls that may. */
import type { handleUnaryCall } from '@grpc/grpc-js';
import type { ServedService } from '@slipway/kit/net/channel';
import { fromGrpcError, type Reason } from '@slipway/proto/wire/reason';
import type { Access } from '../../access/access.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import type { RefusedAttempts } from '../../reports/refused-attempts.ts';
import type { CallSource } from '../../store/accounts/call-source.ts';
import { mayChange } from './may-change.ts';
import { sourceOfCall } from './source-of-call.ts';
import { keyOf } from './unary.ts';

interface RefusalParts {
  access: Access;
  refusals: RefusedAttempts;
}

type Handler = handleUnaryCall<unknown, unknown>;

/** Reasons that say nothing about the caller's rights: mistakes in a request, and failures of ours. */
const UNRECORDED: ReadonlySet<Reason> = new Set<Reason>([
  ...(['INVALID_REQUEST', 'INVALID_INPUT', 'INVALID_POLICY', 'INVALID_WEBHOOK', 'PAYLOAD_TOO_LARGE'] as const),
  ...(['RATE_LIMITED', 'UNAVAILABLE', 'INTERNAL'] as const),
]);
const ID_LENGTH_MAX = 64;
const DETAIL_LENGTH_MAX = 300;

/**
 * Returns a service whose unary calls record refusals if they may change something. `only`: names of the calls.
 * Default: all.
 */
export function recordingRefusals(
  [definition, handlers]: ServedService,
  parts: RefusalParts,
  only?: readonly string[],
): ServedService {
  const wrapped = Object.entries(definition).flatMap(([name, { path, requestStream, responseStream }]) => {
    const handle = handlers[name] as Handler | undefined;
    const isWrapped = !requestStream && !responseStream && mayChange(path) && (only?.includes(name) ?? true);
    return handle && isWrapped ? [[name, recording(path, handle, parts)] as const] : [];
  });
  return [definition, { ...handlers, ...Object.fromEntries(wrapped) }];
}

function recording(path: string, handle: Handler, parts: RefusalParts): Handler {
  const action = path.slice(path.lastIndexOf('/') + 1);
  return (call, done) =>
    handle(call, (error, ...rest) => {
      if (error) {
        const attempt = { action, subjectId: subjectOf(call.request), error, source: sourceOfCall(call) };
        void recordRefusal(parts, keyOf(call.metadata), attempt);
      }
      done(error, ...rest);
    });
}

/** A call that failed. */
interface FailedCall {
  /** Name of the RPC. */
  action: string;
  subjectId: string;
  error: unknown;
  source: CallSource;
}

/** Records a failed call if it was refused. Never rejects. */
export async function recordRefusal(
  { access, refusals }: RefusalParts,
  apiKey: string,
  { action, subjectId, error, source }: FailedCall,
): Promise<void> {
  const { reason, message } = error instanceof DomainError ? error : fromGrpcError(error);
  if (UNRECORDED.has(reason)) return;
  const caller = await access.caller(apiKey).catch(() => undefined);
  refusals.record({
    ...source,
    ...{ action, subjectId: storable(subjectId, ID_LENGTH_MAX), refused: reason, attempts: 1 },
    accountId: caller?.accountId ?? '',
    keyId: caller?.keyId ?? '',
    detail: storable(message, DETAIL_LENGTH_MAX),
  });
}

/** Returns the id of the resource that a request names. Empty if it names none. */
function subjectOf(request: unknown): string {
  const fields = Object.entries((request ?? {}) as Record<string, unknown>);
  const own = fields.find(([name, value]) => name === 'id' && typeof value === 'string');
  const other = fields.find(([name, value]) => /Id$/.test(name) && name !== 'requestId' && typeof value === 'string');
  const nested = fields.map(([, value]) => (value as { id?: unknown } | undefined)?.id).find((id) => id !== undefined);
  const id = own?.[1] ?? nested ?? other?.[1];
  return typeof id === 'string' ? id : '';
}

/** Returns a text that PostgreSQL stores. */
function storable(text: string, lengthMax: number): string {
  return text.replaceAll('\0', '').slice(0, lengthMax).toWellFormed();
}
