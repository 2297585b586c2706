/** Suspends and resumes single workers, for an operator who needs their GPUs. */

import type { Caller } from '../domain/accounts/permission.ts';
import { unauthorized } from '../domain/accounts/permission.ts';
import type { Worker } from '../domain/machines/worker.ts';
import { DomainError } from '../domain/settings/errors.ts';
import type { EndpointContext } from './endpoint-context.ts';

type SuspendContext = Pick<EndpointContext, 'suspensions' | 'workers' | 'onDesired' | 'onChanged'>;

/**
 * Puts a worker into host memory and keeps its GPUs free, until it is resumed. Idempotent. Throws UNAUTHORIZED if the
 * caller is not the operator, NOT_FOUND without such a worker, IN_USE if it cannot be suspended.
 */
export function suspendWorker(context: SuspendContext, caller: Caller, workerId: string): Promise<Worker> {
  return change(context, caller, workerId, () => context.suspensions.suspend(workerId, caller.keyId));
}

/** Resumes a suspended worker. Throws as `suspendWorker`. */
export function resumeWorker(context: SuspendContext, caller: Caller, workerId: string): Promise<Worker> {
  return change(context, caller, workerId, () => context.suspensions.resume(workerId, caller.keyId));
}

async function change(
  { workers, onDesired, onChanged }: SuspendContext,
  { scope }: Caller,
  workerId: string,
  write: () => Promise<{ machineId: string; endpointIds: string[] } | undefined>,
): Promise<Worker> {
  if (scope !== 'ROOT') throw unauthorized();
  const changed = await write();
  const worker = changed && (await workers.living(workerId));
  if (!worker) {
    const which = JSON.stringify(workerId.slice(0, 64));
    throw new DomainError('NOT_FOUND', `There is no worker ${which} that runs or is on standby (slipway workers).`);
  }
  onDesired([changed.machineId]);
  onChanged(changed.endpointIds);
  return worker;
}
