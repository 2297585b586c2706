/** Keys of attempts, in memory and on the agent's disk. */
import type { AttemptRef } from '@slipway/proto/gen/slipway/v1/agent_service';

/** Returns the key of an attempt. It contains the endpoint, because two endpoints may have jobs with the same id. */
export function attemptKey(ref: AttemptRef): string {
  return `${ref.endpointId}/${ref.jobId}/${ref.attempt}`;
}
