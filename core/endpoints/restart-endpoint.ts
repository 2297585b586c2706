/** Replaces an endpoint's workers, for instance because a file that they loaded has changed. */
import { endpointNotFound } from '../domain/access.ts';
import type { Actor } from '../domain/access.ts';
import type { Endpoint } from '../domain/endpoint.ts';
import type { EndpointContext } from './context.ts';

/** Answers the endpoint with its new version. Workers of earlier ones take no further job and go when they hold none. */
export async function restartEndpoint(
  { endpoints, onChanged }: Pick<EndpointContext, 'endpoints' | 'onChanged'>, actor: Actor, id: string,
): Promise<Endpoint> {
  const raised = await endpoints.raiseVersion(id, actor);
  if (!raised) throw endpointNotFound(id);
  onChanged([id]);
  return raised;
}
