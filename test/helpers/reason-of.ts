/** What a failing call of core was refused with. */
import { CoreError } from '@slipway/proto/wire/reason';

/** `REASON: message` of the failure; throws when the call succeeds or fails otherwise. */
export async function reasonOf(calling: Promise<unknown>): Promise<string> {
  try {
    await calling;
  } catch (error) {
    if (error instanceof CoreError) return `${error.reason}: ${error.message}`;
    throw error;
  }
  throw new Error('the call succeeded');
}
