/** Empties a machine of workers, for its operator. */

import type { Caller } from '../domain/accounts/permission.ts';
import type { DrainRequest } from '../domain/machines/drain.ts';
import { checkDrain } from '../domain/machines/drain.ts';
import type { MachineStatus } from '../store/machines/machine-rows.ts';
import type { EndpointContext } from './endpoint-context.ts';
import { machineNotFound } from './forget-machine.ts';
import { findMachine } from './read-machine.ts';

type DrainContext = Pick<EndpointContext, 'machines' | 'drains' | 'onDesired' | 'onChanged'>;

/**
 * Drains a machine and returns it. `named`: its id or name. Throws UNAUTHORIZED if the caller is not the operator.
 * NOT_FOUND: there is no such machine. INVALID_REQUEST: several have this name, or the wish is out of range.
 */
export async function drainMachine(
  context: DrainContext,
  caller: Caller,
  named: string,
  wish: DrainRequest,
): Promise<MachineStatus> {
  const { id } = await findMachine(context, caller, named);
  checkDrain(wish);
  const endpointIds = await context.drains.drain(id, wish, caller.keyId);
  if (!endpointIds) throw machineNotFound(named);
  context.onDesired([id]);
  // Workers that are still wanted start elsewhere.
  context.onChanged(endpointIds);
  return findMachine(context, caller, id);
}
