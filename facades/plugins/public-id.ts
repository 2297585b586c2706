/** Ids in paths of public routes. */
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyRequest } from 'fastify';

/** Ids of endpoints and jobs: nothing else ever reaches core. docs/reference/api.md#identifiers. */
const ID_FORM = /^[A-Za-z0-9_-]{1,128}$/;

/** Returns whether a text can be the id of an endpoint or a job. */
export function isId(text: string): boolean {
  return ID_FORM.test(text);
}

/** Returns the same error for endpoints that do not exist and for those of other accounts. */
export function endpointNotFound(): CoreError {
  return new CoreError('ENDPOINT_NOT_FOUND', 'There is no such endpoint.');
}

/** Returns the endpoint's id, the parameter `id` of a path. Throws ENDPOINT_NOT_FOUND if it cannot be one. */
export function endpointIdInPath({ params }: Pick<FastifyRequest, 'params'>): string {
  const { id } = params as { id: string };
  if (!isId(id)) throw endpointNotFound();
  return id;
}
