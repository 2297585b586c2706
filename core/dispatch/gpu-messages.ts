/** GPUs between the agent contract and the domain. Bad messages fail with INVALID_REQUEST. */
import type { Gpu } from '@slipway/proto/gen/slipway/v1/machine';
import { seenHealth } from '../domain/machines/gpu-health.ts';
import { checkName, checkText, shortened } from '../domain/settings/fields.ts';
import type { MachineFacts } from '../store/machines/machine-rows.ts';

const TEXT_LENGTH_MAX = 191;
const FAULT_MARK_LENGTH_MAX = 64;

/** Returns a checked GPU of a hello. Its operator's decisions are added when its machine is stored. */
export function gpuFromMessage({
  uuid,
  name,
  memoryMib,
  migProfile,
  occupiedBy,
  ...health
}: Gpu): MachineFacts['gpus'][number] {
  checkName('hello.machine.gpus.uuid', uuid);
  checkName('hello.machine.gpus.name', name);
  checkText('hello.machine.gpus.mig_profile', migProfile);
  checkText('hello.machine.gpus.unhealthy', health.unhealthy);
  checkText('hello.machine.gpus.occupied_by', occupiedBy);
  checkText('hello.machine.gpus.warning', health.warning);
  checkText('hello.machine.gpus.fault_mark', health.faultMark);
  const fault = shortened(health.unhealthy, TEXT_LENGTH_MAX);
  const warning = shortened(health.warning, TEXT_LENGTH_MAX);
  const faultMark = shortened(health.faultMark, FAULT_MARK_LENGTH_MAX);
  return {
    ...{ uuid, name, memoryMib, migProfile },
    ...seenHealth({ fault, warning, faultMark }, undefined),
    ...(occupiedBy !== '' && { occupiedBy: shortened(occupiedBy, TEXT_LENGTH_MAX) }),
  };
}
