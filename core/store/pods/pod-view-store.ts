/** Reads pods and workers for their owners: with their machine and cost. */

import { and, eq, inArray, isNull, or, sql } from '@slipway/drizzle/orm';
import { endpoint } from '@slipway/drizzle/schema/endpoint';
import { givenTemplate } from '@slipway/drizzle/schema/given-template';
import { machine } from '@slipway/drizzle/schema/machine';
import { pod } from '@slipway/drizzle/schema/pod';
import { template } from '@slipway/drizzle/schema/template';
import { worker } from '@slipway/drizzle/schema/worker';
import type { Sealer } from '@slipway/kit/host/seal';
import type { SQL } from 'drizzle-orm';
import { sameCard } from '../../domain/machines/gpu-pools.ts';
import type { StandbyMemory } from '../../domain/machines/standby.ts';
import { moveOf } from '../../domain/machines/standby.ts';
import type { WorkerState } from '../../domain/machines/worker.ts';
import type { Pod, PodState } from '../../domain/pods/pod.ts';
import type { PublishedPort } from '../../domain/pods/published-port.ts';
import { publishedPort } from '../../domain/pods/published-port.ts';
import { invalid } from '../../domain/settings/fields.ts';
import type { MachineFacts } from '../machines/machine-rows.ts';
import { asPinned } from '../resources/pinned-template-rows.ts';
import type { Database } from '../sql/database.ts';
import { envBytes } from '../sql/env-seals.ts';
import { whereValue } from '../sql/list-filter.ts';
import type { Page, PageRequest } from '../sql/page.ts';
import { byNumber, byText, byTime, candidates, cut, inOrder } from '../sql/page.ts';
import { podFromRow } from './pod-rows.ts';

/** A pod, or a worker shown as a pod. */
export interface PodView extends Pod, StandbyMemory {
  machine: MachineFacts;
  /** US dollars per hour: the metered price while it runs, else the present price. */
  costPerHour: number;
  /** Endpoint of a worker. Empty for pods. */
  endpointId: string;
  /** Endpoint version of a worker. */
  version: number;
  /** Empty unless it runs. */
  publishedPorts: readonly PublishedPort[];
}

const SHOWN_AS: Record<WorkerState, PodState> = {
  INITIALIZING: 'STARTING',
  READY: 'RUNNING',
  FROZEN: 'EXITED',
  DRAINING: 'RUNNING',
  UNHEALTHY: 'FAILED',
  STOPPED: 'EXITED',
};
/** Pods are never on standby. */
const NO_STANDBY: StandbyMemory = {
  standbyReached: '',
  gpuMemoryBytes: 0,
  lastOffload: undefined,
  lastRestore: undefined,
};
const AWAY_TEXT = 'Its machine is not connected at the moment.';

/** SQL of whether the machine's agent has a session and extends its lease. */
const connected = sql<boolean>`(${machine.sessionId} IS NOT NULL AND ${machine.leaseExpiresAt} > now())`;

/** Kinds of entries of a list of pods. */
interface PodListSelection {
  pods: boolean;
  workers: boolean;
  /** Only workers of these endpoints. Empty: all. */
  workersOf: readonly string[];
}

/** Sizes in bytes of a pod, and of a worker shown as one: its program and its machine. */
const POD_BYTES = sql`4000 + ${envBytes(pod)} + octet_length(${pod.startCommand}::text) +
  octet_length(${pod.entrypoint}::text)`;
const WORKER_BYTES = sql`4000 + octet_length(${template.startCommand}::text) +
  octet_length(${template.entrypoint}::text)`;
/** Searched fields, filters and orders of a list of pods. */
const PODS_VIEWED = {
  searched: [pod.name, pod.imageName, pod.machineId, pod.state],
  filters: { state: whereValue(pod.state, ['STARTING', 'RUNNING', 'EXITED', 'FAILED']) },
  sorts: {
    name: byText(pod.name),
    image: byText(pod.imageName),
    state: byText(pod.state),
    gpus: byNumber(pod.gpuCount),
    changed: byTime(pod.stateChangedAt),
  },
};
const WORKERS = sql`${worker} JOIN ${endpoint} ON ${endpoint.id} = ${worker.endpointId}
  JOIN ${template} ON ${template.id} = ${endpoint.templateId}`;

export class PodViewStore {
  readonly #database: Database;
  readonly #sealer: Sealer;

  constructor(database: Database, sealer: Sealer) {
    this.#database = database;
    this.#sealer = sealer;
  }

  /** Returns a pod of an account. */
  async pod(accountId: string, id: string): Promise<PodView | undefined> {
    return (await this.#pods(and(eq(pod.accountId, accountId), eq(pod.id, id))))[0];
  }

  /** Returns a worker of an account as a pod. `only`: workers of these endpoints; empty: all. */
  async worker(accountId: string, only: readonly string[], id: string): Promise<PodView | undefined> {
    return (await this.#workers(shownWorkers(accountId, only, id)))[0];
  }

  /** Returns a page of pods, workers, or both, oldest first. */
  async list(accountId: string, selection: PodListSelection, page: PageRequest): Promise<Page<PodView>> {
    const { pods, workers, workersOf } = selection;
    const podsListed = {
      from: pod,
      id: pod.id,
      createdAt: pod.createdAt,
      bytes: POD_BYTES,
      where: eq(pod.accountId, accountId),
      ...PODS_VIEWED,
    };
    const where = shownWorkers(accountId, workersOf);
    const workersListed = {
      from: WORKERS,
      id: worker.id,
      createdAt: worker.createdAt,
      bytes: WORKER_BYTES,
      where,
      searched: [endpoint.name],
    };
    // Two lists can be merged only in an order that both have.
    if (pods && workers && page.view && page.view.orderBy !== '')
      throw invalid('a list of pods and workers has no order_by: leave out one of the two');
    const [first, second] = await Promise.all([
      pods ? candidates(this.#database, podsListed, page) : [],
      workers ? candidates(this.#database, workersListed, page) : [],
    ]);
    const found = [...first, ...second];
    if (pods && workers) found.sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));
    const { ids, next } = cut(found, page.size);
    const entries = await inOrder(ids, async (some) => [
      ...(pods ? await this.#pods(inArray(pod.id, some)) : []),
      ...(workers ? await this.#workers(inArray(worker.id, some)) : []),
    ]);
    return { entries, next };
  }

  async #pods(where: SQL | undefined): Promise<PodView[]> {
    const metered = sql<number | null>`(SELECT u.usd_per_hour FROM usage_span u
      WHERE u.kind = 'POD' AND u.subject_id = ${pod.id} AND u.ended_at IS NULL)`;
    const listed = sql<number>`coalesce((SELECT p.usd_per_hour FROM price p
      WHERE p.item = CASE ${pod.gpuTypeId} WHEN '' THEN 'CPU' ELSE ${pod.gpuTypeId} END), 0) * greatest(${pod.gpuCount},
        1)`;
    const rows = await this.#database.db
      .select({ pod, machine, connected, cost: sql<number>`coalesce(${metered}, ${listed})` })
      .from(pod)
      .innerJoin(machine, eq(machine.id, pod.machineId))
      .where(where);
    return rows.map((row) => ({
      ...podFromRow(this.#sealer, row.pod),
      machine: row.machine,
      costPerHour: row.cost,
      endpointId: '',
      version: 0,
      ...NO_STANDBY,
      publishedPorts: row.pod.state === 'RUNNING' ? publishedPortsOf(row.pod.tcpAddresses) : [],
      ...(row.connected || row.pod.statusText !== '' ? {} : { statusText: AWAY_TEXT }),
    }));
  }

  /** Returns workers without their environment, which may hold secrets of the template. */
  async #workers(where: SQL | undefined): Promise<PodView[]> {
    const cost = sql<number>`coalesce((SELECT u.usd_per_hour FROM usage_span u
      WHERE u.kind = 'WORKER' AND u.subject_id = ${worker.id} AND u.ended_at IS NULL), 0)`;
    // The one of the endpoint's volumes that is in the data center of its machine.
    const networkVolumeId = sql<string | null>`(SELECT v.id FROM network_volume v
      WHERE v.id = ANY(${endpoint.networkVolumeIds}) AND v.data_center_id = ANY(${machine.locations}) LIMIT 1)`;
    const rows = await this.#database.db
      .select({ worker, endpoint, template, given: givenTemplate, machine, networkVolumeId, cost })
      .from(worker)
      .innerJoin(endpoint, eq(endpoint.id, worker.endpointId))
      .innerJoin(template, eq(template.id, endpoint.templateId))
      .leftJoin(givenTemplate, eq(givenTemplate.endpointId, endpoint.id))
      .innerJoin(machine, eq(machine.id, worker.machineId))
      .where(where);
    return rows.map((row) => ({ ...workerAsPod(row), machine: row.machine, costPerHour: row.cost }));
  }
}

/**
 * Returns the condition for workers of an account, or of some of its endpoints, that have not ended. A worker that is
 * named by its id is also shown after it crashed.
 */
function shownWorkers(accountId: string, endpointIds: readonly string[], id?: string): SQL | undefined {
  const some = endpointIds.length === 0 ? undefined : inArray(worker.endpointId, [...endpointIds]);
  const shown =
    id === undefined
      ? isNull(worker.endedAt)
      : and(eq(worker.id, id), or(isNull(worker.endedAt), eq(worker.state, 'UNHEALTHY')));
  return and(eq(endpoint.accountId, accountId), shown, some);
}

function publishedPortsOf(addresses: Record<string, string>): PublishedPort[] {
  return Object.entries(addresses).flatMap(([port, address]) => publishedPort(Number(port), address) ?? []);
}

/** Returns where the GPU memory of a worker is. One without a GPU has none. */
function standbyOf(row: typeof worker.$inferSelect): StandbyMemory {
  return {
    standbyReached: row.gpuUuids.length === 0 ? '' : (row.standbyReached as StandbyMemory['standbyReached']),
    gpuMemoryBytes: row.gpuMemoryBytes,
    lastOffload: moveOf(row.offloadBytes, row.offloadMs),
    lastRestore: moveOf(row.restoreBytes, row.restoreMs),
  };
}

/** Converts a worker to a pod. */
function workerAsPod(row: {
  worker: typeof worker.$inferSelect;
  endpoint: typeof endpoint.$inferSelect;
  template: typeof template.$inferSelect;
  given: typeof givenTemplate.$inferSelect | null;
  machine: typeof machine.$inferSelect;
  networkVolumeId: string | null;
}): Omit<PodView, 'machine' | 'costPerHour'> {
  const { name, gpuIds, locations, allowedCudaVersions, instanceIds, accountId } = row.endpoint;
  const { imageName, startCommand, entrypoint, workingDirectory, containerDiskGb, volumeGb, volumeMountPath, ports } =
    asPinned(row.template, row.given);
  // The owner of a public template does not show which credentials it needs.
  const registryAuthId = row.template.accountId === accountId ? row.template.registryAuthId : null;
  const { id, machineId, gpuUuids, instanceId, reason, exitCode, version, createdAt, endedAt } = row.worker;
  const gpu = row.machine.gpus.find((candidate) => candidate.uuid === gpuUuids[0]);
  return {
    id,
    accountId,
    name,
    machineId,
    gpuUuids,
    version,
    endpointId: row.endpoint.id,
    ...standbyOf(row.worker),
    publishedPorts: [],
    env: {},
    templateId: row.template.id,
    imageName,
    startCommand,
    entrypoint,
    workingDirectory,
    containerDiskGb,
    volumeGb,
    volumeMountPath,
    ports,
    registryAuthId,
    networkVolumeId: row.networkVolumeId,
    gpuIds,
    gpuCount: gpuUuids.length,
    computeType: row.endpoint.computeType as Pod['computeType'],
    locations,
    allowedCudaVersions,
    instanceIds,
    instanceId,
    locked: false,
    interruptible: false,
    gpuTypeId: gpu ? sameCard(gpu.name) : '',
    desired: row.worker.desired === 'RUN' ? 'RUNNING' : 'EXITED',
    state: SHOWN_AS[row.worker.state as WorkerState],
    statusText: reason,
    exitCode,
    run: 1,
    disk: 1,
    createdAt,
    lastStartedAt: createdAt,
    stateChangedAt: endedAt ?? createdAt,
  };
}
