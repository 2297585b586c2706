/** Converts the backends of an endpoint for facades, with the version by which both sides compare what they have. */
import { createHash } from 'node:crypto';
import { EndpointRotation } from '@slipway/proto/gen/slipway/v1/edge_service';
import type { EndpointBackends } from '../../store/machines/edge-store.ts';

/** Characters of a version: enough that two sets of backends never share one by chance. */
const VERSION_LENGTH = 22;

/** Messages that all streams of a replica share. Sets of backends are replaced, never changed. */
const messages = new WeakMap<EndpointBackends, EndpointRotation>();

/**
 * Returns the message for a set of backends. Its version depends on the content alone, so all replicas give the same,
 * also after a restart.
 */
export function backendsMessage(backends: EndpointBackends): EndpointRotation {
  const known = messages.get(backends);
  if (known) return known;
  const { endpointId, workerConcurrency, scalerValue: requestsPerWorker, h2c, singleUse } = backends;
  const workers = backends.workers
    .filter(({ draining }) => !draining)
    .map(({ id, address, ready, tunnelMachineId, surplus }) => ({
      workerId: id,
      address,
      ready,
      tunnelMachineId,
      surplus,
    }));
  const message = {
    endpointId,
    workerConcurrency,
    h2c,
    keepsConnections: !singleUse,
    workers,
    requestsPerWorker,
    version: '',
  };
  message.version = createHash('sha256')
    .update(EndpointRotation.encode(message).finish())
    .digest('base64url')
    .slice(0, VERSION_LENGTH);
  messages.set(backends, message);
  return message;
}
