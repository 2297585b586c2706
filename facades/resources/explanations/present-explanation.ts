/** Explanations as records: GET /explain and `slipway why --json`. Empty members are left out. */

import type {
  AttemptExplanation,
  EndpointExplanation,
  JobExplanation,
  MachineExplanation,
  ModelExplanation,
  ScaleDecision,
  WorkerExplanation,
} from '@slipway/proto/gen/slipway/v1/explanation';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import { enumName } from '@slipway/proto/wire/enum-name';

/** Returns the public form of a decision. */
export function decisionRecord({ decideTime, actions, ...decision }: ScaleDecision) {
  return {
    ...decision,
    decidedAt: decideTime?.toISOString(),
    actions: actions.map(({ kind, workerId }) => ({ kind, ...(workerId === '' ? {} : { workerId }) })),
  };
}

/** Returns the record of an endpoint. */
export function endpointExplanationRecord({
  lastDecision,
  machines,
  workers,
  models,
  batches,
  ...explanation
}: EndpointExplanation) {
  return {
    ...explanation,
    ...(lastDecision ? { lastDecision: decisionRecord(lastDecision) } : {}),
    machines: machines.map(machineRecord),
    workers: workers.map(workerRecord),
    ...(models.length > 0 && { models: models.map(modelRecord) }),
    ...(batches.length > 0 && { batches }),
  };
}

/** Returns the record of a job. */
export function jobExplanationRecord({ state, endpoint, attempts, ...explanation }: JobExplanation) {
  const name = enumName(JobState, state);
  return {
    ...explanation,
    state: name,
    attempts: attempts.map(attemptRecord),
    ...(endpoint ? { endpoint: endpointExplanationRecord(endpoint) } : {}),
  };
}

function attemptRecord({ cause, machine, lostTime, startTime, endTime, ...attempt }: AttemptExplanation) {
  const lost = lostTime ? { lostAt: lostTime.toISOString(), cause } : {};
  const times = {
    ...(startTime ? { startedAt: startTime.toISOString() } : {}),
    ...(endTime ? { endedAt: endTime.toISOString() } : {}),
  };
  return { ...attempt, ...times, ...lost, ...(machine === '' ? {} : { machine }) };
}

function modelRecord({ change, ...model }: ModelExplanation) {
  return { ...model, ...(change === '' ? {} : { change }) };
}

function workerRecord({ change, ...worker }: WorkerExplanation) {
  return { ...worker, ...(change === '' ? {} : { change }) };
}

function machineRecord({ name, refusedBy, change, ...machine }: MachineExplanation) {
  return {
    ...(name === '' ? {} : { name }),
    ...machine,
    ...(refusedBy === '' ? {} : { refusedBy }),
    ...(change === '' ? {} : { change }),
  };
}
