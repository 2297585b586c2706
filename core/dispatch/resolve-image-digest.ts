/** Settles which bytes a tag means: for all workers of a version of an endpoint the same, and for a pod the same through one run. */
import type { SettleImageRequest } from '../../proto/gen/slipway/v1/agent_service.ts';
import { invalid } from '../domain/fields.ts';
import { DomainError } from '../domain/errors.ts';
import type { Stores } from '../store/storage.ts';
import { checkImageClaim } from './container-messages.ts';

/** What was said first. NOT_FOUND: the machine has no such worker or pod any more. INVALID_REQUEST: no digest, or neither or both of them named. */
export async function resolveImageDigest(images: Stores['images'], machineId: string, request: SettleImageRequest): Promise<string> {
  const { endpointId, version, podId, run, imageName, digest } = request;
  checkImageClaim(request);
  if ((endpointId === '') === (podId === '')) throw invalid('either endpoint_id or pod_id must be set');
  if (endpointId.includes('\0') || podId.includes('\0')) throw notFound();
  const claim = { machineId, imageName, digest };
  const settled = endpointId === '' ? await images.settleRun(claim, podId, run) : await images.settleVersion(claim, endpointId, version);
  if (settled === undefined) throw notFound();
  return settled;
}

function notFound(): DomainError {
  return new DomainError('NOT_FOUND', 'This machine has no worker of that version, or no such pod in that run, any more.');
}
