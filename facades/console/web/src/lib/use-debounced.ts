/** Delays text input until the user pauses, so that no request is sent for every letter. */
import { useEffect, useState } from 'react';
import { after } from './stopwatch.ts';

/** Length of a pause, in milliseconds: longer than between two letters, shorter than a user notices. */
const PAUSE_MS = 250;

/**
 * Returns `wanted` as it was at the last pause. `isTyped`: false for a value that was chosen or cleared, which applies
 * at once.
 */
export function useDebounced(wanted: string, isTyped: boolean): string {
  const [debounced, setDebounced] = useState(wanted);
  // Not in an effect, because the previous value would be requested once more.
  if (!isTyped && debounced !== wanted) setDebounced(wanted);
  useEffect(() => (isTyped ? after(PAUSE_MS, () => setDebounced(wanted)) : undefined), [wanted, isTyped]);
  return debounced;
}
