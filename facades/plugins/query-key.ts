/** API keys in queries, which clients of load-balancing endpoints may send and workers must not see. */

/** A URL without its key. */
interface KeylessUrl {
  /** Path and query. The rest of the query stays as the client wrote it. */
  path: string;
  /** The first key. `undefined` if there is none, or if it is no text. */
  queryKey: string | undefined;
}

/** Removes all keys from the query of a URL. */
export function withoutQueryKey(url: string): KeylessUrl {
  const at = url.indexOf('?');
  if (at < 0) return { path: url, queryKey: undefined };
  const parts = url.slice(at + 1).split('&');
  const keys = parts.filter(isKey);
  if (keys.length === 0) return { path: url, queryKey: undefined };
  const others = parts.filter((part) => !isKey(part));
  const path = url.slice(0, at) + (others.length > 0 ? `?${others.join('&')}` : '');
  return { path, queryKey: decoded(keys[0]!.slice(keys[0]!.indexOf('=') + 1)) };
}

/** Matches escaped names too, as query parsers do. */
function isKey(part: string): boolean {
  return (
    part.startsWith('api_key=') ||
    (part.includes('%') && decoded(part.split('=', 1)[0]!) === 'api_key' && part.includes('='))
  );
}

/** Decodes a part of a URL. `undefined` if it is no text. */
export function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
