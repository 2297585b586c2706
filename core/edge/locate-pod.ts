/** Finds the address of a pod's HTTP port, for a facade that forwards a request. */

import { podNotFound } from '../domain/pods/pod.ts';
import { DomainError } from '../domain/settings/errors.ts';
import type { PodLocation } from '../store/machines/edge-store.ts';
import type { Stores } from '../store/storage.ts';

/** Account whose pods may be named. `undefined`: all accounts. */
type PodOwner = string | undefined;

/**
 * Returns the pod's location, which may say that the pod does not run. Throws NOT_FOUND if there is no such pod or HTTP
 * port.
 */
export async function locatePod(
  edge: Pick<Stores['edge'], 'pod'>,
  owner: PodOwner,
  podId: string,
  port: number,
): Promise<Omit<PodLocation, 'ports'>> {
  const location = /^[a-z0-9]{1,64}$/.test(podId) ? await edge.pod(podId, port) : undefined;
  if (!location || (owner !== undefined && location.accountId !== owner)) throw podNotFound(podId);
  if (!location.ports.includes(`${port}/http`))
    throw new DomainError('NOT_FOUND', `The pod has no port "${port}/http".`);
  const { accountId, address, tunnelMachineId } = location;
  return { accountId, address, tunnelMachineId };
}
