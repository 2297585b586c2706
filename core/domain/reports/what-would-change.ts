/**
 * Remedies for the causes that an explanation names. Closed lists: a cause without its remedy does not compile. Pure.
 */

import { NEAREST_FIRST } from '../scaling/placement-refusal.ts';
import type { ScaleLimit, ScaleLimitName } from '../scaling/scale-target.ts';
import type { MachineExplanation } from './machine-explanation.ts';

/** Remedy of each limit. */
const LIMIT_CHANGES: Record<ScaleLimitName, string> = {
  WORKERS_MAX: 'raise workersMax',
  QUOTA: 'let workers or pods of the account end, or ask the operator for a higher quota (slipway accounts quota)',
  NO_PLACE: 'see what each machine lacks (machines), or add a machine',
  FAIR_SHARE:
    'wait for free GPUs beyond what those accounts need, add a machine with such GPUs, or ask the operator for ' +
    'a higher gpu_weight',
  KEPT_GPUS:
    'wait until that worker has them or 10 minutes are over, name further types in gpuIds, or add a ' +
    'machine with such GPUs',
  GAVE_WAY: 'submit jobs without lowPriority, or add a machine with such GPUs',
  AT_ONCE: 'nothing has to: the next ones follow by themselves',
  QUEUE_LENGTH: 'wait until jobs are done, purge the queue, or raise workersMax',
  QUEUED_JOBS:
    'wait until jobs of the account are done, purge queues, or ask the operator for a higher quota ' +
    '(slipway accounts quota)',
  REQUEST_RATE: 'send fewer requests, or let more workers run: each raises the rate',
  REQUESTS_AT_ONCE: 'send fewer requests at a time',
  REQUEST_QUOTA: 'send fewer requests, or ask the operator for a higher quota (slipway accounts quota)',
};

/** Remedies for workers that keep jobs waiting. */
export const SUSPENDED_CHANGE = 'resume it: slipway workers resume WORKER (operator)';
export const CRASH_CHANGE =
  'fix the cause in its reason or last log lines, then update the endpoint or its template: a worker then ' +
  'starts at once; slipway endpoints restart tries again without a change';
export const AWAY_CHANGE = 'let the operator start the agent of that machine again';
export const CORDON_CHANGE = 'let the operator take new work on that machine again (slipway machines uncordon)';
const ADD_MACHINE_CHANGE = 'join a machine (slipway agent)';

/** Limits that leave workers unplaced. A decision with unplaced workers has one of them. */
const PLACEMENT_LIMITS: readonly ScaleLimitName[] = ['QUOTA', 'FAIR_SHARE', 'KEPT_GPUS', 'NO_PLACE'];

/** Returns the limit with its remedy. */
export function withChange<Limit extends ScaleLimit>(limit: Limit): Limit & { change: string } {
  return { ...limit, change: LIMIT_CHANGES[limit.limit] };
}

/** Returns the remedy if all workers are busy. */
export function busyChange(limits: readonly ScaleLimit[]): string {
  return limits.some(({ limit }) => limit === 'WORKERS_MAX')
    ? LIMIT_CHANGES.WORKERS_MAX
    : 'a lower scalerValue starts further workers sooner';
}

/**
 * Returns the remedy for unplaced workers: of the binding limit, or of the machine that is nearest to taking a worker.
 */
export function placeChange(limits: readonly ScaleLimit[], machines: readonly MachineExplanation[]): string {
  const binding = limits.find(({ limit }) => PLACEMENT_LIMITS.includes(limit))?.limit ?? 'NO_PLACE';
  return binding === 'NO_PLACE' ? machineChange(machines) : LIMIT_CHANGES[binding];
}

/** Returns the remedy if no machine takes a worker. */
export function machineChange(machines: readonly MachineExplanation[]): string {
  const refusing = machines.filter(({ fits }) => !fits);
  const nearest = NEAREST_FIRST.map((kind) => refusing.find(({ refusedBy }) => refusedBy === kind)).find(
    (machine) => machine !== undefined,
  );
  return nearest === undefined
    ? ADD_MACHINE_CHANGE
    : `${nearest.change}${nearest.name === '' ? '' : ` (${nearest.name})`}`;
}
