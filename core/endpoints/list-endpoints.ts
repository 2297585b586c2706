/** Lists the endpoints of an account, oldest first. */
import type { Endpoint } from '../domain/endpoint.ts';
import type { EndpointContext } from './context.ts';

/** `only`: the endpoints that a restricted key may see; empty = all. */
export async function listEndpoints(
  { endpoints }: Pick<EndpointContext, 'endpoints'>, accountId: string, only: readonly string[],
): Promise<Endpoint[]> {
  const all = await endpoints.list(accountId);
  return only.length === 0 ? all : all.filter((endpoint) => only.includes(endpoint.id));
}
