/** Finds the API key in a request (docs/reference/api.md#keys): with or without `Bearer`, or as a query parameter. */

/**
 * A key that could not be one is refused without asking core. Control characters would also break the metadata that
 * carries it.
 */
const KEY_FORM = /^[\x21-\x7e]{1,512}$/;
const BEARER = /^bearer\s+/i;

/** The key of a queue request, or undefined when there is none that could be one. */
export function keyOfQueueRequest(authorization: string | undefined, queryKey: unknown): string | undefined {
  const key = authorization === undefined || authorization === '' ? queryKey : authorization.replace(BEARER, '').trim();
  return typeof key === 'string' && KEY_FORM.test(key) ? key : undefined;
}

/** The key of a REST request: bearer form only (docs/reference/api.md#keys). */
export function keyOfRestRequest(authorization: string | undefined): string | undefined {
  if (authorization === undefined || !BEARER.test(authorization)) return undefined;
  const key = authorization.replace(BEARER, '').trim();
  return KEY_FORM.test(key) ? key : undefined;
}
