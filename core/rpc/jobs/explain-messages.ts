/** Converts explanations to messages. */
import type {
  EndpointExplanation as EndpointMessage,
  JobExplanation as JobMessage,
  ScaleDecision,
} from '@slipway/proto/gen/slipway/v1/explanation';
import type { Access } from '../../access/access.ts';
import type { Caller } from '../../domain/accounts/permission.ts';
import type { EndpointExplanation, LoggedDecision } from '../../domain/reports/explanation.ts';
import { withChange } from '../../domain/reports/what-would-change.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import type { ExplainScope, JobExplanation } from '../../endpoints/explain.ts';
import { STATE_TO_WIRE } from './job-messages.ts';

/** Returns what else a key that may read an endpoint's jobs may see. */
export async function sightOf(
  access: Access,
  apiKey: string,
  endpointId: string,
  { scope }: Caller,
): Promise<ExplainScope> {
  try {
    await access.check(apiKey, { api: 'MANAGEMENT', endpointId });
    return { operator: scope === 'ROOT', workers: true };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return { operator: false, workers: false };
  }
}

/** Converts a decision, without its sample, which names machines. */
export function decisionToMessage({ decidedAt, numbers, actions, limits, ...decision }: LoggedDecision): ScaleDecision {
  const { queued, oldestWaitMs, running, workers } = numbers;
  return {
    ...decision,
    limits: limits.map(withChange),
    decideTime: decidedAt,
    queued,
    oldestWaitMs,
    running,
    present: workers.present,
    // The preempted worker may belong to another account, so its id is not shown.
    actions: actions.map((action) => ({
      kind: action.do,
      workerId: action.do === 'ADD' || action.do === 'PREEMPT' ? '' : action.workerId,
    })),
  };
}

export function endpointExplanationToMessage({
  lastDecision,
  limits,
  ...explanation
}: EndpointExplanation): EndpointMessage {
  return { ...explanation, limits: [...limits], lastDecision: lastDecision && decisionToMessage(lastDecision) };
}

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
