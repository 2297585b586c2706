/** Reads an endpoint. */
import { endpointNotFound } from '../domain/access.ts';
import type { Endpoint } from '../domain/endpoint.ts';
import type { EndpointContext } from './context.ts';

/** ENDPOINT_NOT_FOUND: not in this account. */
export async function getEndpoint({ endpoints }: Pick<EndpointContext, 'endpoints'>, accountId: string, id: string): Promise<Endpoint> {
  const [found] = await endpoints.byIds([id]);
  if (!found || found.accountId !== accountId) throw endpointNotFound(id);
  return found;
}
