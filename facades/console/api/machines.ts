/** Machines with their GPUs and who has them. For the operator: machines belong to the installation. */

import type { Worker } from '@slipway/proto/gen/slipway/v1/machine';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { MachineStatus } from '@slipway/proto/gen/slipway/v1/machine_service';
import { allPages } from '@slipway/proto/wire/pages';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import type { CoreClient } from '../../core-client/core-client.ts';
import type { CallOptions } from '../../core-client/service-calls.ts';
import type { ConsoleParts } from '../console-parts.ts';
import { settingsOf } from '../read-settings.ts';
import type { MachineView } from '../views.ts';
import { loadView } from './gpu-load.ts';
import type { PageQuery } from './list-query.ts';

/** Reads a page of them, with the workers that run on these machines. */
export async function readMachines(
  core: CoreClient,
  page: PageQuery,
  options: CallOptions,
): Promise<{ machines: MachineView[]; next: string }> {
  const { machines, nextPageToken } = await core.machines.call((client) => client.listMachines, page, options);
  const ids = machines.flatMap(({ machine }) => machine?.id ?? []);
  const workers =
    ids.length === 0
      ? []
      : await allPages(
          (more) =>
            core.machines.call((client) => client.listWorkers, { endpointId: '', machines: { ids }, ...more }, options),
          (found) => found.workers,
        );
  return { machines: machines.flatMap((status) => machineView(status, workers)), next: nextPageToken };
}

/** Adds the operations: nothing new onto a machine, or again; forgetting one that will not come back. */
export function machineRoutes(
  app: FastifyInstance,
  { core }: ConsoleParts,
  onRequest: onRequestAsyncHookHandler,
): void {
  app.post('/console/api/machines/:id/cordon', { onRequest }, async (request) => {
    const { id } = request.params as { id: string };
    const cordoned = settingsOf(request)['cordoned'] === true;
    await core.machines.call(
      (client) => client.cordonMachine,
      { id, cordoned },
      { apiKey: request.caller.apiKey, repeatable: true },
    );
    return {};
  });
  app.post('/console/api/machines/:id/forget', { onRequest }, async (request) => {
    const { id } = request.params as { id: string };
    return core.machines.call(
      (client) => client.forgetMachine,
      { id },
      { apiKey: request.caller.apiKey, repeatable: true },
    );
  });
}

/** For the page; `all`: workers, those of other machines too. */
export function machineView(
  { machine, connected, seenTime, cordoned, podGpuUuids, gpuLoads }: MachineStatus,
  all: readonly Worker[],
): MachineView[] {
  if (!machine) return [];
  const workers = all.filter(({ machineId }) => machineId === machine.id);
  // One that crashed holds nothing while it waits for its next try.
  const holding = workers.filter(({ state }) => state !== WorkerState.UNHEALTHY);
  const holders = new Map(holding.flatMap((worker) => worker.gpuUuids.map((uuid) => [uuid, worker] as const)));
  return [
    {
      id: machine.id,
      name: machine.name,
      connected,
      cordoned,
      seenMs: seenTime?.getTime() ?? 0,
      agentVersion: machine.agentVersion,
      engine: machine.containerEngine ? `${machine.containerEngine.name} ${machine.containerEngine.version}` : '',
      cpuCount: machine.cpuCount,
      memoryMib: machine.memoryMib,
      locations: machine.locations,
      workers: workers.length,
      gpus: machine.gpus.map(({ uuid, displayName, name, memoryMib, unhealthy }) => {
        const holder = holders.get(uuid);
        const heldBy = holder ? 'worker' : podGpuUuids.includes(uuid) ? 'pod' : '';
        return {
          uuid,
          name: displayName || name,
          memoryMib,
          unhealthy,
          heldBy,
          workerId: holder?.id ?? '',
          endpointName: holder?.endpointName ?? '',
          busy: holder ? Math.min(holder.held / Math.max(holder.capacity, 1), 1) : 0,
          load: gpuLoads.filter((load) => load.uuid === uuid).map(loadView)[0] ?? null,
        };
      }),
    },
  ];
}
