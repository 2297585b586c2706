/** Ids in paths of public routes. */

/** Ids of endpoints and jobs: nothing else ever reaches core. docs/reference/api.md#identifiers. */
const ID_FORM = /^[A-Za-z0-9_-]{1,128}$/;

/** Returns whether a text can be the id of an endpoint or a job. */
export function isId(text: string): boolean {
  return ID_FORM.test(text);
}
