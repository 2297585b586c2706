/** What of a page stands in the address behind the `?`, so that a link shows the same. */
import { useSearchParams } from 'wouter';

/** Reads it, and sets parts of it: an empty one is left out. The page before stays the one to go back to. */
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
