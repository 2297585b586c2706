/** Reads the Idempotency-Key of a creation from its request. */

/** A request that may be repeated. */
interface Repeatable {
  requestId?: string | undefined;
}

/** Encodes messages of one type. */
interface Codec<Message> {
  encode(message: Message): { finish(): Uint8Array };
}

/** Returns the key of a creation and the bytes that must be the same when it is sent again. */
export function creationOf<Message extends Repeatable>(
  action: string,
  codec: Codec<Message>,
  request: Message,
): { action: string; requestId: string; body: Uint8Array } {
  const { requestId = '' } = request;
  return { action, requestId, body: codec.encode({ ...request, requestId: '' }).finish() };
}
