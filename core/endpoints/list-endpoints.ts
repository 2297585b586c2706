/** Lists the endpoints of an account, oldest first. */
import type { Endpoint } from '../domain/endpoint.ts';
import type { Template } from '../domain/template.ts';
import type { Page, PageRequest } from '../store/page.ts';
import type { EndpointContext } from './context.ts';

/** An endpoint, with what it runs when that was asked for. */
export type EndpointView = Endpoint & { template?: Template | undefined };

/** `only`: the endpoints that a restricted key may see; empty = all. `withTemplates`: with what they run. */
export async function listEndpoints(
  context: Pick<EndpointContext, 'endpoints' | 'templates'>, accountId: string, only: readonly string[], withTemplates: boolean, page: PageRequest,
): Promise<Page<EndpointView>> {
  const { entries, next } = await context.endpoints.list(accountId, only, withTemplates, page);
  return { entries: withTemplates ? await withTemplatesOf(context, entries) : entries, next };
}

/** The same with what they run. */
export async function withTemplatesOf({ templates }: Pick<EndpointContext, 'templates'>, endpoints: readonly Endpoint[]): Promise<EndpointView[]> {
  const run = await templates.ofEndpoints(endpoints.map(({ id }) => id));
  return endpoints.map((endpoint) => ({ ...endpoint, template: run.get(endpoint.id) }));
}
