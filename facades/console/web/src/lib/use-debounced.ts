/** What one writes, once one pauses: nothing is asked for at every letter on the way to a word. */
import { useEffect, useState } from 'react';
import { after } from './stopwatch.ts';

/** So long without a letter is a pause, in milliseconds: longer than between two letters, shorter than one notices. */
const PAUSE_MS = 250;

/** `wanted` as it was when one paused last; `isTyped`: not chosen or emptied, which counts at once. */
export function useDebounced(wanted: string, isTyped: boolean): string {
  const [debounced, setDebounced] = useState(wanted);
  // Not in an effect: what was wanted before would be asked for once more.
  if (!isTyped && debounced !== wanted) setDebounced(wanted);
  useEffect(() => (isTyped ? after(PAUSE_MS, () => setDebounced(wanted)) : undefined), [wanted, isTyped]);
  return debounced;
}
