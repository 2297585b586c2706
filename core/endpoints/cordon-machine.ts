/** Keeps new work away from a machine or one of its GPUs, for its operator. */

import type { Caller } from '../domain/accounts/permission.ts';
import { DomainError } from '../domain/settings/errors.ts';
import { checkText } from '../domain/settings/fields.ts';
import type { EndpointContext } from './endpoint-context.ts';
import { machineNotFound } from './forget-machine.ts';
import { findMachine } from './read-machine.ts';

type CordonContext = Pick<EndpointContext, 'machines' | 'gpuHealth' | 'onCapacity'>;

/** A machine by its id or name, or one of its GPUs. */
interface Cordoned {
  id: string;
  /** Empty: the whole machine. */
  gpuUuid: string;
}

/**
 * Cordons or uncordons a machine or GPU. Throws UNAUTHORIZED if the caller is not the operator. NOT_FOUND: there is no
 * such machine, or it has no such GPU. INVALID_REQUEST: several machines have this name.
 */
export async function cordonMachine(
  context: CordonContext,
  caller: Caller,
  { id: named, gpuUuid }: Cordoned,
  cordoned: boolean,
): Promise<void> {
  const { id, gpus } = await findMachine(context, caller, named);
  checkText('gpu_uuid', gpuUuid);
  if (gpuUuid === '') {
    if (!(await context.machines.cordon(id, cordoned, caller.keyId))) throw machineNotFound(named);
  } else if (!(await context.gpuHealth.cordon(id, gpuUuid, cordoned, caller.keyId))) {
    const known = gpus.map(({ uuid }) => uuid).join(', ') || 'none';
    const asked = JSON.stringify(gpuUuid.slice(0, 64));
    throw new DomainError('NOT_FOUND', `This machine has no GPU ${asked}. Its GPUs: ${known}`);
  }
  if (!cordoned) context.onCapacity([id]);
}
