/** Outcomes and chunks for tests. */

import type { AttemptChunk, AttemptOutcome, AttemptRef } from '@slipway/proto/gen/slipway/v1/agent_service';
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';

/** Returns the first attempt of a job. */
export function refOf(jobId: string, attempt = 1, endpointId = 'endpoint'): AttemptRef {
  return { endpointId, jobId, attempt, workerId: 'worker00000001' };
}

/** Returns a COMPLETED outcome. */
export function outcomeOf(jobId: string, output: string | Buffer = `"${jobId}"`): AttemptOutcome {
  return { ref: refOf(jobId), kind: OutcomeKind.COMPLETED, output: Buffer.from(output), error: '' };
}

/** Returns a chunk. */
export function chunkOf(jobId: string, number: number, output = `${number}`): AttemptChunk {
  return { ref: refOf(jobId), number, output: Buffer.from(output), metrics: undefined };
}
