/** Machines with their GPUs and who has them. For the operator: machines belong to the installation. */
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import type { MachineStatus } from '../../../proto/gen/slipway/v1/machine_service.ts';
import type { Worker } from '../../../proto/gen/slipway/v1/machine.ts';
import type { CoreClient } from '../../core-client/core-client.ts';
import type { CallOptions } from '../../core-client/service-calls.ts';
import { settingsOf } from '../read-settings.ts';
import type { ConsoleParts } from '../console-parts.ts';
import type { MachineView } from '../views.ts';

/** Machines, and workers on them, that are shown. */
const MACHINES_MAX = 1_000;
const WORKERS_MAX = 1_000;

/** Reads them. */
export async function readMachines(core: CoreClient, options: CallOptions): Promise<{ machines: MachineView[]; truncated: boolean }> {
  const [{ machines, nextPageToken }, { workers }] = await Promise.all([
    core.machines.call((client) => client.listMachines, { pageSize: MACHINES_MAX }, options),
    core.machines.call((client) => client.listWorkers, { endpointId: '', pageSize: WORKERS_MAX }, options),
  ]);
  return { machines: machines.flatMap((status) => machineView(status, workers)), truncated: nextPageToken !== '' };
}

/** Adds the operation that lets nothing new onto a machine, or again. */
export function machineRoutes(app: FastifyInstance, { core }: ConsoleParts, onRequest: onRequestAsyncHookHandler): void {
  app.post('/console/api/machines/:id/cordon', { onRequest }, async (request) => {
    const { id } = request.params as { id: string };
    const cordoned = settingsOf(request)['cordoned'] === true;
    await core.machines.call((client) => client.cordonMachine, { id, cordoned }, { apiKey: request.caller.apiKey, repeatable: true });
    return {};
  });
}

function machineView({ machine, connected, seenTime, cordoned }: MachineStatus, all: readonly Worker[]): MachineView[] {
  if (!machine) return [];
  const workers = all.filter(({ machineId }) => machineId === machine.id);
  const holders = new Map(workers.flatMap((worker) => worker.gpuUuids.map((uuid) => [uuid, worker] as const)));
  return [{
    id: machine.id, name: machine.name, connected, cordoned, seenMs: seenTime?.getTime() ?? 0, agentVersion: machine.agentVersion,
    engine: machine.containerEngine ? `${machine.containerEngine.name} ${machine.containerEngine.version}` : '',
    cpuCount: machine.cpuCount, memoryMib: machine.memoryMib, locations: machine.locations, workers: workers.length,
    gpus: machine.gpus.map(({ uuid, displayName, name, memoryMib, unhealthy }) => {
      const holder = holders.get(uuid);
      return { uuid, name: displayName || name, memoryMib, unhealthy, workerId: holder?.id ?? '', endpointName: holder?.endpointName ?? '' };
    }),
  }];
}
