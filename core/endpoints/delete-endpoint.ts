/** Deletes an endpoint with its workers and its jobs. */
import { endpointNotFound } from '../domain/access.ts';
import type { Actor } from '../domain/access.ts';
import { checkDeletable } from '../domain/endpoint.ts';
import type { EndpointContext } from './context.ts';

/** WORKERS_NOT_ZERO: workers_min or workers_max is not 0 (spec.md 3). Jobs that still run are stopped with their workers. */
export async function deleteEndpoint(context: EndpointContext, actor: Actor, id: string): Promise<void> {
  const { endpoints, deleteJobs, onChanged, onDesired } = context;
  const machineIds = await endpoints.remove(id, actor, checkDeletable);
  if (!machineIds) throw endpointNotFound(id);
  onChanged([id]);
  onDesired(machineIds);
  await deleteJobs(id);
}
