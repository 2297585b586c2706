/** Machines with their GPUs and the holders of these. For the operator, because machines belong to the installation. */

import type { Worker } from '@slipway/proto/gen/slipway/v1/machine';
import { StandbyLevel, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { MachineDrain, MachineStatus } from '@slipway/proto/gen/slipway/v1/machine_service';
import { allPages } from '@slipway/proto/wire/pages';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import type { CoreClient } from '../../core-client/core-client.ts';
import type { CallOptions } from '../../core-client/service-calls.ts';
import type { ConsoleParts } from '../console-parts.ts';
import { settingsOf } from '../read-settings.ts';
import type { MachineView } from '../views.ts';
import type { DrainView } from '../views-of-drains.ts';
import { loadView } from './gpu-load.ts';
import type { PageQuery } from './list-query.ts';

const MINUTE_MS = 60_000;

/** Reads a page of machines, with the workers that run on them. */
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

/** Adds the routes that cordon, uncordon and drain a machine, and that forget a machine that will not come back. */
export function machineRoutes(
  app: FastifyInstance,
  { core }: ConsoleParts,
  onRequest: onRequestAsyncHookHandler,
): void {
  // Uncordoning a machine ends its drain, too.
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
  app.post('/console/api/machines/:id/drain', { onRequest }, async (request) => {
    const { id } = request.params as { id: string };
    await core.machines.call(
      (client) => client.drainMachine,
      { id, ...drainOf(settingsOf(request)) },
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

/** Reads what a drain is asked for. Core checks the bounds. */
function drainOf({ minutes, reason = '' }: Record<string, unknown>): {
  deadlineMs: number | undefined;
  reason: string;
} {
  if (typeof reason !== 'string') throw new CoreError('INVALID_REQUEST', 'reason must be a string.');
  if (minutes === undefined) return { deadlineMs: undefined, reason };
  const deadlineMs = typeof minutes === 'number' ? Math.round(minutes * MINUTE_MS) : NaN;
  if (!Number.isSafeInteger(deadlineMs))
    throw new CoreError('INVALID_REQUEST', 'minutes must be the number of minutes until the deadline.');
  return { deadlineMs, reason };
}

/** Converts a machine for the page. `all`: workers of all machines. */
export function machineView(
  { machine, connected, seenTime, cordoned, drain, podGpuUuids, gpuLoads, labels }: MachineStatus,
  all: readonly Worker[],
): MachineView[] {
  if (!machine) return [];
  const workers = all.filter(({ machineId }) => machineId === machine.id);
  const offloaded = workers.filter(({ standbyLevel, suspended }) => standbyLevel === StandbyLevel.HOST && !suspended);
  // A crashed worker holds no GPU while it waits for its next start.
  const holding = workers.filter((worker) => worker.state !== WorkerState.UNHEALTHY && !offloaded.includes(worker));
  const holders = new Map(holding.flatMap((worker) => worker.gpuUuids.map((uuid) => [uuid, worker] as const)));
  return [
    {
      id: machine.id,
      name: machine.name,
      connected,
      cordoned,
      drain: drain ? drainView(drain) : null,
      seenMs: seenTime?.getTime() ?? 0,
      agentVersion: machine.agentVersion,
      engine: machine.containerEngine ? `${machine.containerEngine.name} ${machine.containerEngine.version}` : '',
      cpuCount: machine.cpuCount,
      memoryMib: machine.memoryMib,
      pool: machine.pool ?? '',
      labels,
      locations: machine.locations,
      workers: workers.length,
      gpus: machine.gpus.map(({ uuid, displayName, name, memoryMib, unhealthy, warning }) => {
        const holder = holders.get(uuid);
        const heldByPod = podGpuUuids.includes(uuid) ? 'pod' : '';
        const heldBy = holder ? 'worker' : heldByPod;
        return {
          uuid,
          name: displayName || name,
          memoryMib,
          unhealthy,
          warning,
          heldBy,
          workerId: holder?.id ?? '',
          endpointName: holder?.endpointName ?? '',
          offloaded: offloaded.flatMap((worker) =>
            worker.gpuUuids.includes(uuid) ? [worker.endpointName || worker.endpointId] : [],
          ),
          busy: holder ? Math.min(holder.held / Math.max(holder.capacity, 1), 1) : 0,
          load: gpuLoads.filter((load) => load.uuid === uuid).map(loadView)[0] ?? null,
        };
      }),
    },
  ];
}

function drainView({ deadlineTime, reason, workers, jobs, pods }: MachineDrain): DrainView {
  return { deadlineMs: deadlineTime?.getTime() ?? 0, reason, workers, jobs, pods };
}
