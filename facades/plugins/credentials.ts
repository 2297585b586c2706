/** Finds the API key in a request (docs/reference/api.md#keys): with or without `Bearer`, or as a query parameter. */

/**
 * Form of a key. Other texts are rejected without a call to core. Control characters would also break the metadata that
 * carries the key.
 */
const KEY_FORM = /^[\x21-\x7e]{1,512}$/;
const BEARER = /^bearer\s+/i;

/** Returns the key of a queue request, `undefined` if there is none of a valid form. */
export function keyOfQueueRequest(authorization: string | undefined, queryKey: unknown): string | undefined {
  const key = authorization === undefined || authorization === '' ? queryKey : authorization.replace(BEARER, '').trim();
  return typeof key === 'string' && KEY_FORM.test(key) ? key : undefined;
}

/** Returns the key of a REST request. Only the bearer form is accepted (docs/reference/api.md#keys). */
export function keyOfRestRequest(authorization: string | undefined): string | undefined {
  if (authorization === undefined || !BEARER.test(authorization)) return undefined;
  const key = authorization.replace(BEARER, '').trim();
  return KEY_FORM.test(key) ? key : undefined;
}
