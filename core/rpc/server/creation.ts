/** Reads the Idempotency-Key of a creation from its request. */

import { IDEMPOTENCY_KEY_LENGTH_MAX } from '@slipway/proto/wire/limits';
import { checkText, invalid } from '../../domain/settings/fields.ts';

/** A request that may be repeated. */
interface Repeatable {
  requestId?: string | undefined;
}

/** Encodes messages of one type. */
interface Codec<Message> {
  encode(message: Message): { finish(): Uint8Array };
}

/**
 * Returns the key of a creation and the bytes that must be the same when it is sent again. Throws INVALID_REQUEST if it
 * cannot be a key.
 */
export function creationOf<Message extends Repeatable>(
  action: string,
  codec: Codec<Message>,
  request: Message,
): { action: string; requestId: string; body: Uint8Array } {
  const { requestId = '' } = request;
  checkRequestId(requestId);
  return { action, requestId, body: codec.encode({ ...request, requestId: '' }).finish() };
}

function checkRequestId(requestId: string): void {
  const { length } = requestId;
  if (length > IDEMPOTENCY_KEY_LENGTH_MAX)
    throw invalid(`request_id has ${length} characters, but may have ${IDEMPOTENCY_KEY_LENGTH_MAX}`);
  checkText('request_id', requestId);
}
