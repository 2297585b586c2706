/**
 * Machines and workers for reconciles of one transaction. They are read once under the placement lock, which is held
 * until the transaction ends, and updated with each decision. Reading all machines for every reconcile would not scale
 * to a large fleet.
 */

import type { QuotaState } from '../../domain/accounts/quota.ts';
import { NO_QUOTA } from '../../domain/accounts/quota.ts';
import type { GpuContention } from '../../domain/scaling/fair-share.ts';
import type { MachineCrashes } from '../../domain/scaling/machine-crashes.ts';
import { runsSomewhere, withCrashes } from '../../domain/scaling/machine-crashes.ts';
import { occupied } from '../../domain/scaling/placement.ts';
import type { PlacementMachine } from '../../domain/scaling/placement-machine.ts';
import type { Decision } from '../../domain/scaling/scale-decision.ts';
import { accountsWithQuota, readQuotaState } from '../accounts/quota-rows.ts';
import type { Sql } from '../sql/database.ts';
import { areGpusShort, readGpuContention } from './gpu-contention.ts';
import type { ImageVersion } from './image-machines.ts';
import { ImageMachines, readImageMachines } from './image-machines.ts';
import type { ModelProgress } from './model-progress.ts';
import { readModelProgress, withModelProgress } from './model-progress.ts';
import { readPlacement } from './placement-view.ts';
import type { EndpointVersion, ScaleEndpoint } from './scale-samples.ts';
import { lockPlacement } from './standby-rows.ts';
import type { WorkerRow } from './worker-samples.ts';
import { readWorkers } from './worker-samples.ts';

export class ReconcileFleet {
  readonly #sql: Sql;
  readonly #endpoints: readonly ScaleEndpoint[];
  readonly #checked: readonly ImageVersion[];
  readonly #crashes: ReadonlyMap<string, readonly MachineCrashes[]>;
  /** Machines by id, as seen by an endpoint that has neither workers nor its image there. */
  #machines: Map<string, PlacementMachine> | undefined;
  #workers = new Map<string, WorkerRow[]>();
  #images = new ImageMachines();
  #models: ModelProgress = new Map();
  /** Accounts with a quota. */
  #limited: ReadonlySet<string> = new Set();
  /** Some workers that need GPUs are unplaced. */
  #contested = true;

  /** `checked`: versions that are checked beside the scaled ones. */
  constructor(
    sql: Sql,
    endpoints: readonly ScaleEndpoint[],
    crashes: ReadonlyMap<string, readonly MachineCrashes[]>,
    checked: readonly ImageVersion[] = [],
  ) {
    this.#sql = sql;
    this.#endpoints = endpoints;
    this.#checked = checked;
    this.#crashes = crashes;
  }

  /** True from the first call of `open` on: the transaction holds the lock. */
  get isOpen(): boolean {
    return this.#machines !== undefined;
  }

  /** Takes the lock and reads everything, on the first call. */
  async open(): Promise<void> {
    if (this.#machines) return;
    const sql = this.#sql;
    // Sent together and executed in order, as others wait for the lock during every round trip. Each statement sees
    // what was committed before it runs.
    const [, machines, workers, limited, contested, models, images] = await Promise.all([
      lockPlacement(sql),
      readPlacement(sql, { endpointId: '', imageName: '', imageDigest: '' }),
      readWorkers(
        sql,
        this.#endpoints.map(({ id }) => id),
      ),
      accountsWithQuota(
        sql,
        this.#endpoints.map(({ accountId }) => accountId),
      ),
      areGpusShort(sql),
      readModelProgress(sql, this.#endpoints),
      readImageMachines(sql, [...this.#endpoints, ...this.#checked]),
    ]);
    this.#workers = Map.groupBy(workers, ({ endpointId }) => endpointId);
    this.#limited = limited;
    this.#contested = contested;
    this.#models = models;
    this.#images = images;
    this.#machines = new Map(machines.map((machine) => [machine.id, machine]));
  }

  /**
   * Returns whether the account's use or the GPU contention must be read again for this endpoint. Previous decisions of
   * the transaction must be written before.
   */
  needsFreshRows({ accountId, gpuCount }: ScaleEndpoint): boolean {
    return this.#limited.has(accountId) || (this.#contested && gpuCount > 0);
  }

  /** Returns an account's quota and use. */
  async quotaOf(accountId: string): Promise<QuotaState> {
    return this.#limited.has(accountId) ? readQuotaState(this.#sql, accountId) : NO_QUOTA;
  }

  /** Returns the competitors for GPUs, `undefined` if there are none. */
  async contentionOf(endpoint: ScaleEndpoint): Promise<GpuContention | undefined> {
    return this.#contested && endpoint.gpuCount > 0 ? readGpuContention(this.#sql, endpoint) : undefined;
  }

  /** Returns the workers of an endpoint, oldest first. */
  workersOf(endpointId: string): readonly WorkerRow[] {
    return this.#workers.get(endpointId) ?? [];
  }

  /** Returns all machines as seen by an endpoint. */
  machinesFor(endpoint: ScaleEndpoint): PlacementMachine[] {
    return this.withCrashesOf(endpoint, this.#machinesOf(endpoint));
  }

  /** Returns the same for the version that is checked beside the scaled one. `crashes`: of that version. */
  machinesForChecked({ id, version }: EndpointVersion, crashes: readonly MachineCrashes[]): PlacementMachine[] {
    return withCrashes(this.#machinesOf({ id, version }), crashes, runsSomewhere(this.workersOf(id), version));
  }

  #machinesOf(endpoint: EndpointVersion): PlacementMachine[] {
    const images = this.#images.of(endpoint);
    const there = this.workersOf(endpoint.id).filter(
      ({ desired, state }) => desired !== 'FREEZE' && state !== 'UNHEALTHY',
    );
    const own = Map.groupBy(there, ({ machineId }) => machineId);
    const machines = [...this.#machines!.values()].map((machine) => {
      const [siblings, hasImage] = [own.get(machine.id)?.length ?? 0, images?.has(machine.id) ?? false];
      return siblings === 0 && !hasImage ? machine : { ...machine, siblings, hasImage };
    });
    return this.withModelsOf(endpoint, machines);
  }

  /** Returns these machines with the progress of an endpoint's models. */
  withModelsOf({ id }: { id: string }, machines: readonly PlacementMachine[]): PlacementMachine[] {
    return withModelProgress(machines, this.#models.get(id));
  }

  /** Returns these machines with the crashes of an endpoint. */
  withCrashesOf({ id, version }: ScaleEndpoint, machines: readonly PlacementMachine[]): PlacementMachine[] {
    return withCrashes(machines, this.#crashes.get(id) ?? [], runsSomewhere(this.workersOf(id), version));
  }

  /** Applies a decision, for the next endpoints. Freed resources stay in use until the transaction ends. */
  apply({ actions, throttled }: Pick<Decision, 'actions' | 'throttled'>): void {
    if (!this.#machines) return;
    if (throttled > 0) this.#contested = true;
    for (const action of actions) {
      if (action.do === 'ADD' || action.do === 'RESTORE') {
        const machine = this.#machines.get(action.machineId);
        if (machine) this.#machines.set(machine.id, { ...occupied(machine, action), siblings: 0 });
        for (const id of action.evicted) this.#release(id);
        for (const id of action.offloaded ?? []) this.#offload(id);
      } else if (action.do === 'OFFLOAD') {
        for (const id of action.evicted) this.#release(id);
      } else if (action.do === 'FREEZE') {
        const machine = this.#machines.get(this.#find(action.workerId)?.machineId ?? '');
        const standby = { workerId: action.workerId, gpuUuids: [], instanceId: '', frozenMs: 0 };
        if (machine) this.#machines.set(machine.id, { ...machine, standbys: [...machine.standbys, standby] });
      } else {
        this.#resume(action.workerId);
        if (action.do === 'PREEMPT') this.#release(action.workerId);
      }
    }
  }

  /** Marks the resources of a standby worker as used. */
  #resume(workerId: string): void {
    for (const machine of this.#machines!.values()) {
      const standby = machine.standbys.find((one) => one.workerId === workerId);
      if (!standby) continue;
      const { gpuUuids, instanceId } = standby;
      const resumed = occupied(machine, {
        machineId: machine.id,
        gpuUuids: [...gpuUuids],
        instanceId,
        evicted: [workerId],
      });
      const gpus = resumed.gpus.map((gpu) => (gpuUuids.includes(gpu.uuid) ? { ...gpu, standby: false } : gpu));
      this.#machines!.set(machine.id, { ...resumed, gpus, siblings: 0 });
    }
  }

  /** Marks a worker as draining, for an endpoint that is reconciled later. */
  #release(workerId: string): void {
    const worker = this.#find(workerId);
    if (worker) Object.assign(worker, { desired: 'DRAIN', ageMs: 0 });
  }

  /** Marks a worker as offloaded, for an endpoint that is reconciled later. */
  #offload(workerId: string): void {
    const worker = this.#find(workerId);
    if (worker) Object.assign(worker, { desired: 'FREEZE', ageMs: 0 });
  }

  #find(workerId: string): WorkerRow | undefined {
    for (const workers of this.#workers.values()) {
      const found = workers.find(({ id }) => id === workerId);
      if (found) return found;
    }
    return undefined;
  }
}
