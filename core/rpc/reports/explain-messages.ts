/** Converts explanations of endpoints to messages. */

import type { EndpointExplanation as EndpointMessage, ScaleDecision } from '@slipway/proto/gen/slipway/v1/explanation';
import type { Access } from '../../access/access.ts';
import type { Caller } from '../../domain/accounts/permission.ts';
import type { EndpointExplanation, LoggedDecision } from '../../domain/reports/explanation.ts';
import { withChange } from '../../domain/reports/what-would-change.ts';
import type { PlacementRefusal } from '../../domain/scaling/placement-refusal.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import type { ExplainScope } from '../../endpoints/explain.ts';

/** Returns the additional permissions of a key that may read an endpoint's jobs. */
export async function sightOf(
  access: Access,
  apiKey: string,
  endpointId: string,
  { scope, endpointIds }: Caller,
): Promise<ExplainScope> {
  const account = endpointIds.length === 0;
  try {
    await access.check(apiKey, { api: 'MANAGEMENT', endpointId });
    return { operator: scope === 'ROOT', workers: true, account };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return { operator: false, workers: false, account };
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
    // Workers that make way may belong to another account, so their ids are not shown.
    actions: actions.flatMap((action) => [
      { kind: action.do, workerId: action.do === 'ADD' || action.do === 'PREEMPT' ? '' : action.workerId },
      ...('offloaded' in action ? (action.offloaded ?? []) : []).map(() => ({ kind: 'OFFLOAD', workerId: '' })),
    ]),
  };
}

export function endpointExplanationToMessage({
  lastDecision,
  limits,
  ...explanation
}: EndpointExplanation): EndpointMessage {
  return { ...explanation, limits: [...limits], lastDecision: lastDecision && decisionToMessage(lastDecision) };
}

/** Returns why workers find no slot, in the words for this caller. Empty without a refusal. */
export function reasonFor(refusal: PlacementRefusal | undefined, operator: boolean): string {
  return (operator ? refusal?.refusalByMachine : refusal?.refusal) ?? '';
}
