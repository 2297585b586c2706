/** Suspension of a worker by an operator, who needs its GPUs: whether it is possible, and what must go for it. Pure. */

import { DomainError } from '../settings/errors.ts';
import type { StandbyState } from './standby.ts';
import { gigabytesMoved } from './standby.ts';
import type { OffloadedWorker, StandbyBudget } from './standby-budget.ts';
import { evictedForBudget } from './standby-budget.ts';

/** A worker that is to be suspended, as stored. */
export interface SuspendedWorker {
  id: string;
  desired: string;
  state: string;
  gpus: number;
  standbyReached: StandbyState;
  gpuMemoryBytes: number;
  machineName: string;
  /** `undefined`: its machine cannot offload, for `unsupportedReason`. */
  budget: StandbyBudget | undefined;
  unsupportedReason: string;
  /** Offloaded workers of the machine that may be evicted. */
  offloaded: readonly OffloadedWorker[];
  /** Another worker or pod has one of its GPUs. */
  gpusTaken: boolean;
}

/** Returns the offloaded workers to evict first. Throws IN_USE if the worker cannot be suspended. */
export function suspensionOf(worker: SuspendedWorker): string[] {
  const { machineName, gpuMemoryBytes, budget } = worker;
  if (worker.gpus === 0) throw cannot('it has no GPU');
  if (worker.desired !== 'RUN' && worker.desired !== 'FREEZE') throw cannot('it is stopping');
  if (worker.state !== 'READY' && worker.state !== 'FROZEN')
    throw cannot(`it is ${worker.state}: try again once it is READY`);
  if (!budget) throw cannot(`machine ${machineName} cannot offload workers: ${worker.unsupportedReason}`);
  // Its GPUs were given away when it was offloaded.
  if (worker.gpusTaken) throw cannot('it is in host memory already, and others use its GPUs');
  if (worker.standbyReached === 'HOST') return [];
  const evicted = evictedForBudget(budget, worker.offloaded, gpuMemoryBytes);
  if (evicted) return evicted;
  throw cannot(
    `it holds ${gigabytesMoved(gpuMemoryBytes)} and the budget of machine ${machineName} for offloaded workers is ` +
      `${gigabytesMoved(budget.limitBytes)} (--standby-memory)`,
  );
}

function cannot(why: string): DomainError {
  return new DomainError('IN_USE', `The worker cannot be suspended: ${why}.`);
}
