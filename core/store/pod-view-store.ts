/** Pods and workers as their owners see them: with their machine and what they cost. */
import { and, asc, eq, inArray, isNull, or, sql } from 'drizzle-orm';
import type { SQL } from 'drizzle-orm';
import { endpoint } from '../../drizzle/schema/endpoint.ts';
import { machine } from '../../drizzle/schema/machine.ts';
import { pod } from '../../drizzle/schema/pod.ts';
import { template } from '../../drizzle/schema/template.ts';
import { worker } from '../../drizzle/schema/worker.ts';
import { sameCard } from '../domain/gpu-pools.ts';
import type { Pod, PodState } from '../domain/pod.ts';
import type { WorkerState } from '../domain/worker.ts';
import type { Sealer } from '../runtime/seal.ts';
import type { Database } from './database.ts';
import type { MachineFacts } from './machine-store.ts';
import { podFromRow } from './pod-store.ts';

/** A pod, or a worker shown as one. */
export interface PodView extends Pod {
  machine: MachineFacts;
  /** US dollars: what is metered while it runs, else what it would cost now. */
  costPerHour: number;
  /** Endpoint whose worker it is; empty for pods. */
  endpointId: string;
  /** Endpoint version of a worker. */
  version: number;
}

const SHOWN_AS: Record<WorkerState, PodState> = {
  INITIALIZING: 'STARTING', READY: 'RUNNING', DRAINING: 'RUNNING', UNHEALTHY: 'FAILED', STOPPED: 'EXITED',
};
const AWAY_TEXT = 'Its machine is not connected at the moment.';

/** The machine's agent has a session and extends its lease. */
const connected = sql<boolean>`(${machine.sessionId} IS NOT NULL AND ${machine.leaseExpiresAt} > now())`;

/** See the file's first line. */
export class PodViewStore {
  readonly #database: Database;
  readonly #sealer: Sealer;

  constructor(database: Database, sealer: Sealer) {
    this.#database = database;
    this.#sealer = sealer;
  }

  /** Pods of an account, oldest first; with an id only that one. */
  async pods(accountId: string, id?: string): Promise<PodView[]> {
    const metered = sql<number | null>`(SELECT u.usd_per_hour FROM usage_span u
      WHERE u.kind = 'POD' AND u.subject_id = ${pod.id} AND u.ended_at IS NULL)`;
    const listed = sql<number>`coalesce((SELECT p.usd_per_hour FROM price p
      WHERE p.item = CASE ${pod.gpuTypeId} WHEN '' THEN 'CPU' ELSE ${pod.gpuTypeId} END), 0) * greatest(${pod.gpuCount}, 1)`;
    const rows = await this.#database.db.select({ pod, machine, connected, cost: sql<number>`coalesce(${metered}, ${listed})` })
      .from(pod).innerJoin(machine, eq(machine.id, pod.machineId))
      .where(and(eq(pod.accountId, accountId), id === undefined ? undefined : eq(pod.id, id))).orderBy(asc(pod.createdAt), asc(pod.id));
    return rows.map((row) => ({
      ...podFromRow(this.#sealer, row.pod), machine: row.machine, costPerHour: row.cost, endpointId: '', version: 0,
      ...(row.connected || row.pod.statusText !== '' ? {} : { statusText: AWAY_TEXT }),
    }));
  }

  /**
   * Workers of an account, or of some of its endpoints, oldest first, without those that stopped as they were told to. Their environment,
   * which may hold secrets of the template, is left out. With an id only that one.
   */
  async workers(accountId: string, endpointIds: readonly string[], id?: string): Promise<PodView[]> {
    const shown = or(isNull(worker.endedAt), eq(worker.state, 'UNHEALTHY'));
    const some = endpointIds.length === 0 ? undefined : inArray(worker.endpointId, [...endpointIds]);
    return this.#workers(and(eq(endpoint.accountId, accountId), shown, some, id === undefined ? undefined : eq(worker.id, id)));
  }

  async #workers(where: SQL | undefined): Promise<PodView[]> {
    const cost = sql<number>`coalesce((SELECT u.usd_per_hour FROM usage_span u
      WHERE u.kind = 'WORKER' AND u.subject_id = ${worker.id} AND u.ended_at IS NULL), 0)`;
    // Of the endpoint's volumes the one in the data centre of its machine.
    const networkVolumeId = sql<string | null>`(SELECT v.id FROM network_volume v
      WHERE v.id = ANY(${endpoint.networkVolumeIds}) AND v.data_center_id = ANY(${machine.locations}) LIMIT 1)`;
    const rows = await this.#database.db.select({ worker, endpoint, template, machine, networkVolumeId, cost })
      .from(worker).innerJoin(endpoint, eq(endpoint.id, worker.endpointId)).innerJoin(template, eq(template.id, endpoint.templateId))
      .innerJoin(machine, eq(machine.id, worker.machineId)).where(where).orderBy(asc(worker.createdAt), asc(worker.id));
    return rows.map((row) => ({ ...workerAsPod(row), machine: row.machine, costPerHour: row.cost }));
  }
}

/** How a worker looks as a pod. */
function workerAsPod(row: {
  worker: typeof worker.$inferSelect; endpoint: typeof endpoint.$inferSelect; template: typeof template.$inferSelect;
  machine: typeof machine.$inferSelect; networkVolumeId: string | null;
}): Omit<PodView, 'machine' | 'costPerHour'> {
  const { name, gpuIds, locations, allowedCudaVersions, instanceIds, accountId } = row.endpoint;
  const {
    imageName, startCommand, entrypoint, workingDirectory, containerDiskGb, volumeGb, volumeMountPath, ports,
  } = row.template;
  // Which credentials a public template needs is its owner's business.
  const registryAuthId = row.template.accountId === accountId ? row.template.registryAuthId : null;
  const { id, machineId, gpuUuids, instanceId, reason, exitCode, version, createdAt, endedAt } = row.worker;
  const gpu = row.machine.gpus.find((candidate) => candidate.uuid === gpuUuids[0]);
  return {
    id, accountId, name, machineId, gpuUuids, version, endpointId: row.endpoint.id, env: {},
    templateId: row.template.id, imageName, startCommand, entrypoint, workingDirectory, containerDiskGb, volumeGb, volumeMountPath, ports,
    registryAuthId, networkVolumeId: row.networkVolumeId, gpuIds, gpuCount: gpuUuids.length,
    computeType: row.endpoint.computeType as Pod['computeType'], locations, allowedCudaVersions, instanceIds, instanceId, locked: false, interruptible: false,
    gpuTypeId: gpu ? sameCard(gpu.name) : '', desired: row.worker.desired === 'RUN' ? 'RUNNING' : 'EXITED',
    state: SHOWN_AS[row.worker.state as WorkerState], statusText: reason, exitCode, run: 1, disk: 1,
    createdAt, lastStartedAt: createdAt, stateChangedAt: endedAt ?? createdAt,
  };
}
