/** Reads, lists, restarts and deletes endpoints. */

import type { Actor } from '../domain/accounts/permission.ts';
import { endpointNotFound } from '../domain/accounts/permission.ts';
import type { Endpoint } from '../domain/resources/endpoint.ts';
import { checkDeletable } from '../domain/resources/endpoint.ts';
import type { Template } from '../domain/resources/template.ts';
import type { Page, PageRequest } from '../store/sql/page.ts';
import type { EndpointContext } from './endpoint-context.ts';

/** Returns an endpoint. Throws ENDPOINT_NOT_FOUND if it is not in this account. */
export async function getEndpoint(
  { endpoints }: Pick<EndpointContext, 'endpoints'>,
  accountId: string,
  id: string,
): Promise<Endpoint> {
  const [found] = await endpoints.byIds([id]);
  if (!found || found.accountId !== accountId) throw endpointNotFound(id);
  return found;
}

/** An endpoint, with its template if requested. */
export type EndpointView = Endpoint & { template?: Template | undefined };

/**
 * Lists the endpoints of an account, oldest first. `only`: endpoints that a restricted key may see; empty: all.
 * `withTemplates`: adds their templates.
 */
export async function listEndpoints(
  context: Pick<EndpointContext, 'endpoints' | 'templates'>,
  accountId: string,
  only: readonly string[],
  withTemplates: boolean,
  page: PageRequest,
): Promise<Page<EndpointView>> {
  const { entries, next } = await context.endpoints.list(accountId, only, withTemplates, page);
  return { entries: withTemplates ? await withTemplatesOf(context, entries) : entries, next };
}

/** Returns the endpoints with their templates. */
export async function withTemplatesOf(
  { templates }: Pick<EndpointContext, 'templates'>,
  endpoints: readonly Endpoint[],
): Promise<EndpointView[]> {
  const run = await templates.ofEndpoints(endpoints.map(({ id }) => id));
  return endpoints.map((endpoint) => ({ ...endpoint, template: run.get(endpoint.id) }));
}

/**
 * Replaces an endpoint's workers, for instance because a file that they loaded has changed. Returns the endpoint with
 * its new version, whose rollout begins. `atOnce`: workers of earlier versions take no more jobs and stop when they
 * hold none, without waiting for new ones.
 */
export async function restartEndpoint(
  { endpoints, onChanged }: Pick<EndpointContext, 'endpoints' | 'onChanged'>,
  actor: Actor,
  id: string,
  atOnce = false,
): Promise<Endpoint> {
  const raised = await endpoints.raiseVersion(id, actor, atOnce);
  if (!raised) throw endpointNotFound(id);
  onChanged([id]);
  return raised;
}

/**
 * Deletes an endpoint with its workers and jobs (docs/reference/management.md#endpoints). Throws WORKERS_NOT_ZERO if
 * workers_min or workers_max is not 0. Running jobs are stopped with their workers. `stopWorkers`: deletes whatever the
 * worker counts are.
 */
export async function deleteEndpoint(
  context: EndpointContext,
  actor: Actor,
  id: string,
  stopWorkers: boolean,
): Promise<void> {
  const { endpoints, deleteJobs, onChanged, onDesired } = context;
  const machineIds = await endpoints.remove(id, actor, stopWorkers ? undefined : checkDeletable);
  if (!machineIds) throw endpointNotFound(id);
  onChanged([id]);
  onDesired(machineIds);
  await deleteJobs(id);
}
