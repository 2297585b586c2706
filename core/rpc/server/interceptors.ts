/** Gives every call a request id, which is returned with the response, and logs its end. */

import type { ServerInterceptor } from '@grpc/grpc-js';
import { status as Code, Metadata, ServerInterceptingCall } from '@grpc/grpc-js';
import type { PartVersion } from '@slipway/kit/host/part-version';
import { partOfUserAgent } from '@slipway/kit/host/part-version';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { markDatabaseAway } from '@slipway/proto/wire/reason';

/** Metadata key of the request id. */
export const REQUEST_ID_KEY = 'x-request-id';
const REQUEST_ID = /^[\w.:-]{1,128}$/;

interface InterceptorOptions {
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Whether the database is away, so that a call that could not be served is not worth a retry. Default: never. */
  databaseAway?(): boolean;
  /** Called when a call has ended. `path`: /package.Service/Method. Default: not called. */
  onCall?(path: string, code: Code, tookMs: number): void;
  /** Called when a part of Slipway begins a call; the result is called when the call has ended. Default: not called. */
  onPart?(part: PartVersion): () => void;
}

/** Returns the interceptor. A caller's own request id is kept if it is well formed. */
export function requestInterceptor(options: InterceptorOptions): ServerInterceptor {
  const { clock, random, logger, databaseAway, onCall, onPart } = options;
  return (methodDescriptor, call) => {
    const startedAtMs = clock.monotonicMs();
    let requestId = '';
    let sent = false;
    let onPartEnd: (() => void) | undefined;
    return new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, pass) => {
            const [given] = metadata.get(REQUEST_ID_KEY);
            requestId = typeof given === 'string' && REQUEST_ID.test(given) ? given : random.id(20);
            metadata.set(REQUEST_ID_KEY, requestId);
            const [userAgent] = onPart ? metadata.get('user-agent') : [];
            const part = typeof userAgent === 'string' ? partOfUserAgent(userAgent) : undefined;
            if (part) onPartEnd = onPart?.(part);
            pass(metadata);
          },
          // Of every call: also after its status was sent.
          onCancel: () => {
            onPartEnd?.();
            onPartEnd = undefined;
          },
        }),
      sendMetadata: (metadata, next) => {
        sent = true;
        metadata.set(REQUEST_ID_KEY, requestId);
        next(metadata);
      },
      sendStatus: (status, next) => {
        const tookMs = clock.monotonicMs() - startedAtMs;
        logger.debug({ method: methodDescriptor.path, requestId, code: status.code, tookMs }, 'call ended');
        onCall?.(methodDescriptor.path, status.code, tookMs);
        const metadata = status.metadata ?? new Metadata();
        if (!sent) metadata.set(REQUEST_ID_KEY, requestId);
        if (status.code === Code.UNAVAILABLE && databaseAway?.()) markDatabaseAway(metadata);
        if (status.code !== Code.UNKNOWN) return next({ ...status, metadata });
        // An error that no handler has mapped is internal: its text is not sent to the caller.
        logger.error(
          { method: methodDescriptor.path, requestId, details: status.details },
          'call failed outside its handler',
        );
        next({ code: Code.INTERNAL, details: 'Something went wrong on our side; it has been logged.', metadata });
      },
    });
  };
}
