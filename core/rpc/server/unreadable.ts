/**
 * Requests whose bytes are no message of their call, or hold a whole number that JavaScript cannot keep: grpc-js calls
 * them a fault of ours (INTERNAL) before any handler sees them. Here they are read as what they are, and refused as the
 * caller's.
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

/** The same service, whose requests never fail to be read: `refuseUnreadable` must stand before its handlers. */
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

/** Refuses what could not be read. No handler sees it, nor what follows it on its stream. */
export const refuseUnreadable: ServerInterceptor = (_method, call) =>
  new ServerInterceptingCall(call, {
    start: (next) =>
      next({
        onReceiveMessage: (message: unknown, pass) => {
          if (message instanceof Unreadable) call.sendStatus(toGrpcStatus('INVALID_REQUEST', message.why));
          else pass(message);
        },
      }),
  });
