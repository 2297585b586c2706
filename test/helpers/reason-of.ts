/** Returns the reason of a failed core call. */
import { CoreError } from '@slipway/proto/wire/reason';

/** Returns `REASON: message` of the failure. Throws if the call succeeds or fails in another way. */
export async function reasonOf(calling: Promise<unknown>): Promise<string> {
  try {
    await calling;
  } catch (error) {
    if (error instanceof CoreError) return `${error.reason}: ${error.message}`;
    throw error;
  }
  throw new Error('the call succeeded');
}
