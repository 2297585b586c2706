/** Keeps parts of a page's state in the query of the address, so that a link shows the same. */
import { useSearchParams } from 'wouter';

/**
 * Returns the query and a function that sets parts of it. An empty part is removed. Changes replace the history entry,
 * so the back button leads to the previous page.
 */
export function useAddress(): [query: URLSearchParams, set: (part: Readonly<Record<string, string>>) => void] {
  const [query, setQuery] = useSearchParams();
  const set = (part: Readonly<Record<string, string>>): void =>
    setQuery(
      (before) => {
        const next = new URLSearchParams(before);
        for (const [name, value] of Object.entries(part)) {
          if (value === '') next.delete(name);
          else next.set(name, value);
        }
        return next;
      },
      { replace: true },
    );
  return [query, set];
}
