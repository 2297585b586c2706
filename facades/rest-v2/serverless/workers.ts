/** Workers of an endpoint in REST v2: live ones, and wanted ones that could not be placed. */

import type { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { GpuMove, Worker } from '@slipway/proto/gen/slipway/v1/machine';
import { StandbyLevel, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import { allPages } from '@slipway/proto/wire/pages';
import { Type } from 'typebox';
import { dataCenterOf } from '../container/data-center.ts';
import type { Call, Operation, RestV2Parts } from '../operation.ts';
import { operation, repeatable } from '../operation.ts';
import { momentOrNull, named, textOrNull, word } from '../schema-parts.ts';

const STATUSES = ['RUNNING', 'IDLE', 'INITIALIZING', 'THROTTLED', 'UNHEALTHY'] as const;
type WorkerStatus = (typeof STATUSES)[number];

const wholeOrNull = (description: string) => Type.Unsafe<number | null>({ type: ['integer', 'null'], description });

const MoveShape = Type.Union([
  named(
    'GpuMemoryMove',
    Type.Object({ bytes: Type.Integer(), durationMs: Type.Integer() }, { description: 'A move of GPU memory.' }),
  ),
  Type.Null(),
]);

const WorkerShape = named(
  'Worker',
  Type.Object({
    id: Type.String({ description: 'Id of the worker. A THROTTLED worker has a temporary id.' }),
    status: word(
      STATUSES,
      'RUNNING: it has jobs. IDLE: it has no job, or is on standby. THROTTLED: no machine has capacity for it.',
    ),
    isStale: Type.Boolean({ description: 'True if it runs an earlier version of the endpoint and is being replaced.' }),
    version: wholeOrNull('Version of the endpoint that it runs.'),
    gpuCount: Type.Integer(),
    image: textOrNull('Image that it runs.'),
    uptimeSeconds: wholeOrNull('Seconds since it was requested.'),
    gpuTypeId: textOrNull('GPU type. Null: it has no GPU.'),
    dataCenterId: textOrNull('Data centre of its machine. Null: none.'),
    startedAt: momentOrNull('When it was requested.'),
    standbyLevel: textOrNull('On standby: GPU or HOST, where its GPU memory is. Null otherwise. An extension.'),
    gpuMemoryBytes: wholeOrNull('GPU memory that it holds, or held before its offload. Null: unknown. An extension.'),
    lastOffload: MoveShape,
    lastRestore: MoveShape,
  }),
);
type WorkerAnswer = { id: string; status: WorkerStatus };

const Summary = named(
  'WorkerSummary',
  Type.Object(
    Object.fromEntries(
      [...STATUSES.map((status) => status.toLowerCase()), 'total'].map((name) => [name, Type.Integer()]),
    ),
  ),
);

/** The operation. */
export const workersOperation: Operation = operation({
  tag: 'serverless',
  id: 'ListEndpointWorkers',
  method: 'GET',
  path: '/v2/serverless/{endpointId}/workers',
  summary: 'List the workers of an endpoint',
  status: 200,
  answer: named(
    'ListEndpointWorkersResponse',
    Type.Object({
      endpointVersion: wholeOrNull('Current version of the endpoint.'),
      summary: Summary,
      workers: Type.Array(WorkerShape, { description: 'Oldest first.' }),
    }),
  ),
  handle: async (call, parts) => {
    const endpointId = call.path['endpointId']!;
    const { endpoint } = await parts.core.endpoints.call(
      (client) => client.getEndpoint,
      { id: endpointId },
      repeatable(call),
    );
    const [live, pods] = await Promise.all([workersOf(call, parts, endpointId), podsOf(call, parts, endpointId)]);
    const nowMs = parts.clock.nowMs();
    const workers = [
      ...live.map((worker) => presentWorker(worker, pods.get(worker.id), endpoint!, nowMs)),
      ...(await throttledOf(call, parts, endpoint!)),
    ];
    const counts = STATUSES.map((status) => [
      status.toLowerCase(),
      workers.filter((worker) => worker.status === status).length,
    ]);
    return {
      endpointVersion: endpoint!.version,
      summary: { ...Object.fromEntries(counts), total: workers.length },
      workers,
    };
  },
});

/** Returns the workers of an endpoint that have not ended, oldest first. */
export function workersOf(call: Call<object, unknown>, { core }: RestV2Parts, endpointId: string): Promise<Worker[]> {
  return allPages(
    (page) => core.machines.call((client) => client.listWorkers, { endpointId, ...page }, repeatable(call)),
    ({ workers }) => workers,
  );
}

/** Returns the pods of the workers, by id. */
async function podsOf(
  call: Call<object, unknown>,
  { core }: RestV2Parts,
  endpointId: string,
): Promise<ReadonlyMap<string, Pod>> {
  const which = { includeWorkers: true, endpointId, endpointIds: [] };
  const pods = await allPages(
    (page) => core.pods.call((client) => client.listPods, { ...which, ...page }, repeatable(call)),
    (response) => response.pods,
  );
  return new Map(pods.map((pod) => [pod.id, pod]));
}

/** Returns the workers that the last scaling decision wanted but that could not be placed. */
async function throttledOf(
  call: Call<object, unknown>,
  { core }: RestV2Parts,
  endpoint: Endpoint,
): Promise<WorkerAnswer[]> {
  const { id: endpointId, throttledReason, version } = endpoint;
  if (throttledReason === '') return [];
  const last = { endpointId, pageSize: 1, beforeId: 0 };
  const {
    decisions: [decision],
  } = await core.endpoints.call((client) => client.listDecisions, last, repeatable(call));
  return Array.from({ length: decision?.throttled ?? 0 }, (_, at) => ({
    id: `${endpointId}-throttled-${at + 1}`,
    status: 'THROTTLED' as const,
    isStale: false,
    version,
    gpuCount: 0,
    image: null,
    uptimeSeconds: null,
    gpuTypeId: null,
    dataCenterId: null,
    startedAt: null,
    standbyLevel: null,
    gpuMemoryBytes: null,
    lastOffload: null,
    lastRestore: null,
  }));
}

function presentWorker(worker: Worker, pod: Pod | undefined, endpoint: Endpoint, nowMs: number): WorkerAnswer {
  const { id, version, gpuUuids, createTime } = worker;
  return {
    id,
    status: statusOf(worker),
    isStale: version !== endpoint.version,
    version,
    gpuCount: gpuUuids.length,
    image: pod?.imageName || null,
    uptimeSeconds: createTime ? Math.max(0, Math.floor((nowMs - createTime.getTime()) / 1_000)) : null,
    gpuTypeId: pod?.gpuTypeId || null,
    dataCenterId: dataCenterOf(pod?.machine),
    startedAt: createTime?.toISOString() ?? null,
    standbyLevel: LEVELS[worker.standbyLevel] ?? null,
    gpuMemoryBytes: worker.gpuMemoryBytes || null,
    lastOffload: presentMove(worker.lastOffload),
    lastRestore: presentMove(worker.lastRestore),
  } as WorkerAnswer;
}

const LEVELS: Readonly<Record<number, string>> = { [StandbyLevel.GPU]: 'GPU', [StandbyLevel.HOST]: 'HOST' };

function presentMove(move: GpuMove | undefined): { bytes: number; durationMs: number } | null {
  return move ? { bytes: move.bytes, durationMs: move.durationMs } : null;
}

function statusOf({ state, held }: Worker): WorkerStatus {
  if (state === WorkerState.INITIALIZING) return 'INITIALIZING';
  if (state === WorkerState.UNHEALTHY) return 'UNHEALTHY';
  return held > 0 ? 'RUNNING' : 'IDLE';
}
