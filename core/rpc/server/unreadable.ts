/**
 * Rejects requests that cannot be decoded, or that contain an integer which JavaScript cannot represent. grpc-js would
 * report them as an internal error (INTERNAL) before any handler sees them. Here they are decoded to a marker and
 * rejected as the caller's fault.
 */

import type { ServerInterceptor, ServiceDefinition } from '@grpc/grpc-js';
import { ServerInterceptingCall } from '@grpc/grpc-js';
import { toGrpcStatus } from '@slipway/proto/wire/reason';

class Unreadable {
  readonly why: string;

  constructor(error: unknown) {
    this.why =
      error instanceof Error && error.message.includes('SAFE_INTEGER')
        ? 'A whole number in the request is beyond 2^53 - 1, the largest that is understood either way.'
        : 'The request cannot be read: its bytes are no message of this call.';
  }
}

/** Returns the same service with decoding that never fails. `rejectUnreadable` must run before its handlers. */
export function readable(definition: ServiceDefinition): ServiceDefinition {
  return Object.fromEntries(
    Object.entries(definition).map(([name, method]) => [
      name,
      {
        ...method,
        requestDeserialize: (bytes: Buffer): unknown => {
          try {
            return method.requestDeserialize(bytes);
          } catch (error) {
            return new Unreadable(error);
          }
        },
      },
    ]),
  );
}

/** Rejects messages that could not be decoded. No handler sees such a message, or what follows it on its stream. */
export const rejectUnreadable: ServerInterceptor = (_method, call) =>
  new ServerInterceptingCall(call, {
    start: (next) =>
      next({
        onReceiveMessage: (message: unknown, pass) => {
          if (message instanceof Unreadable) call.sendStatus(toGrpcStatus('INVALID_REQUEST', message.why));
          else pass(message);
        },
      }),
  });
