/** How this agent names an attempt, in memory and on its disk. */
import type { AttemptRef } from '@slipway/proto/gen/slipway/v1/agent_service';

/** Names an attempt as one text. Two endpoints may have jobs of the same id. */
export function attemptKey(ref: AttemptRef): string {
  return `${ref.endpointId}/${ref.jobId}/${ref.attempt}`;
}
