/** The part of MachineService about pools: decode, call a use case, encode. */
import type { Logger } from '@slipway/kit/log/logger';
import type { MachinePool as MachinePoolMessage } from '@slipway/proto/gen/slipway/v1/machine';
import type { MachineServiceServer } from '@slipway/proto/gen/slipway/v1/machine_service';
import type { Access } from '../../access/access.ts';
import type { MachinePool, PoolFields } from '../../domain/machines/machine-pool.ts';
import { settingsOf } from '../../domain/machines/machine-pool.ts';
import { invalid } from '../../domain/settings/fields.ts';
import type { EndpointContext } from '../../endpoints/endpoint-context.ts';
import { deletePool, listPools, setPool } from '../../joining/machine-pools.ts';
import { unary } from '../server/unary.ts';
import type { FieldReaders } from '../server/update-mask.ts';
import { changeFromMask } from '../server/update-mask.ts';

type PoolCalls = 'listMachinePools' | 'setMachinePool' | 'deleteMachinePool';

const CHANGES: FieldReaders<MachinePoolMessage, Partial<PoolFields>> = {
  labels: ({ labels }) => ({ labels }),
  locations: ({ locations }) => ({ locations }),
  'settings.standby_max': ({ settings }) => ({ standbyMax: settings?.standbyMax }),
  'settings.standby_memory_gb': ({ settings }) => ({ standbyMemoryGb: settings?.standbyMemoryGb }),
  'settings.model_disk_gb': ({ settings }) => ({ modelDiskGb: settings?.modelDiskGb }),
  'settings.image_disk_gb': ({ settings }) => ({ imageDiskGb: settings?.imageDiskGb }),
};

/** Returns the handlers. */
export function machinePoolHandlers(
  access: Access,
  context: Pick<EndpointContext, 'pools' | 'onCapacity'>,
  logger: Logger,
): Pick<MachineServiceServer, PoolCalls> {
  return {
    listMachinePools: unary(logger, async (_request, apiKey) => {
      const pools = await listPools(context, await access.caller(apiKey));
      return { pools: pools.map(poolToMessage) };
    }),
    setMachinePool: unary(logger, async ({ pool, updateMask = [] }, apiKey) => {
      const caller = await access.caller(apiKey);
      if (!pool) throw invalid('pool is required');
      // A new pool may have nothing but its name.
      const change = updateMask.length === 0 ? {} : changeFromMask(pool, updateMask, CHANGES);
      return { pool: poolToMessage(await setPool(context, caller, pool.name, change)) };
    }),
    deleteMachinePool: unary(logger, async ({ name }, apiKey) => {
      await deletePool(context, await access.caller(apiKey), name);
      return {};
    }),
  };
}

function poolToMessage({ name, labels, locations, machines, ...settings }: MachinePool): MachinePoolMessage {
  return { name, labels, locations, machines, settings: settingsOf(settings) };
}
