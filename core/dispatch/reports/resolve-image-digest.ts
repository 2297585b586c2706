/** Resolves an image tag to a digest: once for all workers of an endpoint version, and once for a run of a pod. */
import type { SettleImageRequest } from '@slipway/proto/gen/slipway/v1/agent_service';
import { DomainError } from '../../domain/settings/errors.ts';
import { invalid } from '../../domain/settings/fields.ts';
import type { Stores } from '../../store/storage.ts';
import { checkImageClaim } from '../container-messages.ts';

/**
 * Returns the digest that was recorded first. Throws NOT_FOUND if the machine has no such worker or pod any more,
 * INVALID_REQUEST if the digest is missing or not exactly one of endpoint and pod is named.
 */
export async function resolveImageDigest(
  images: Stores['images'],
  machineId: string,
  request: SettleImageRequest,
): Promise<string> {
  const { endpointId, version, podId, run, imageName, digest } = request;
  checkImageClaim(request);
  if ((endpointId === '') === (podId === '')) throw invalid('either endpoint_id or pod_id must be set');
  if (endpointId.includes('\0') || podId.includes('\0')) throw notFound();
  const claim = { machineId, imageName, digest };
  const resolved =
    endpointId === ''
      ? await images.resolveRun(claim, podId, run)
      : await images.resolveVersion(claim, endpointId, version);
  if (resolved === undefined) throw notFound();
  return resolved;
}

function notFound(): DomainError {
  return new DomainError(
    'NOT_FOUND',
    'This machine has no worker of that version, or no such pod in that run, any more.',
  );
}
