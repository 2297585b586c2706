/** Converts the explanation of a job to a message. */

import type { JobExplanation as JobMessage } from '@slipway/proto/gen/slipway/v1/explanation';
import type { JobExplanation } from '../../endpoints/explain.ts';
import { endpointExplanationToMessage } from '../reports/explain-messages.ts';
import { STATE_TO_WIRE } from './job-messages.ts';

export function jobExplanationToMessage({ job, summary, attempts, endpoint }: JobExplanation): JobMessage {
  const { id, state, lowPriority, queuePosition, waitedMs, attempt, retries } = job;
  return {
    jobId: id,
    summary,
    state: STATE_TO_WIRE[state],
    queuePosition,
    lowPriority,
    waitedMs,
    attempt,
    lostAttempts: retries,
    attempts: attempts.map(({ exitCode, lostAt, startedAt, endedAt, ...each }) => ({
      ...each,
      exitCode: exitCode ?? undefined,
      lostTime: lostAt,
      startTime: startedAt,
      endTime: endedAt,
    })),
    endpoint: endpoint && endpointExplanationToMessage(endpoint),
  };
}
