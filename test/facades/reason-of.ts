/** Returns the reason why a call was rejected. */
import { CoreError } from '@slipway/proto/wire/reason';

/** Reason of the CoreError that `fn` throws; 'taken' when it throws none. */
export function reasonOf(fn: () => unknown): string {
  try {
    fn();
  } catch (error) {
    if (error instanceof CoreError) return error.reason;
    throw error;
  }
  return 'taken';
}
