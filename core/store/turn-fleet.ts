/**
 * Machines and workers for turns that are taken together: read once under the placement lock, which is kept until their transaction ends, and brought up to
 * date with what each of those turns does. Reading all machines for every turn anew is what a large fleet would wait for.
 */
import type { GpuContest } from '../domain/fair-share.ts';
import { runsSomewhere, withCrashes } from '../domain/machine-crashes.ts';
import type { MachineCrashes } from '../domain/machine-crashes.ts';
import type { PlacementMachine } from '../domain/placement-filters.ts';
import { occupied } from '../domain/placement.ts';
import { NO_QUOTA } from '../domain/quota.ts';
import type { QuotaState } from '../domain/quota.ts';
import type { Decision } from '../domain/scale-decision.ts';
import type { Sql } from './database.ts';
import { areGpusShort, readGpuContest } from './gpu-contest.ts';
import { readPlacement } from './placement-view.ts';
import { accountsWithQuota, readQuotaState } from './quota-rows.ts';
import { readWorkers } from './scale-samples.ts';
import type { EndpointVersion, ScaleEndpoint, WorkerRow } from './scale-samples.ts';
import { lockPlacement } from './standby-rows.ts';

export class TurnFleet {
  readonly #sql: Sql;
  readonly #endpoints: readonly ScaleEndpoint[];
  readonly #crashes: ReadonlyMap<string, readonly MachineCrashes[]>;
  /** By id, as any endpoint without workers there and without an image sees them. */
  #machines: Map<string, PlacementMachine> | undefined;
  #workers = new Map<string, WorkerRow[]>();
  /** Machines that have the image of an endpoint. */
  #images = new Map<string, Set<string>>();
  /** Accounts with a quota. */
  #limited: ReadonlySet<string> = new Set();
  /** Workers that need GPUs have found no place. */
  #contested = true;

  constructor(sql: Sql, endpoints: readonly ScaleEndpoint[], crashes: ReadonlyMap<string, readonly MachineCrashes[]>) {
    this.#sql = sql;
    this.#endpoints = endpoints;
    this.#crashes = crashes;
  }

  /** Takes the lock and reads, the first time. */
  async open(): Promise<void> {
    if (this.#machines) return;
    const sql = this.#sql;
    // Sent together, and done one after the other: whoever waits for the lock waits for each answer. What is read is seen when it is read.
    const [, machines, workers, limited, contested] = await Promise.all([
      lockPlacement(sql), readPlacement(sql, { endpointId: '', imageName: '', imageDigest: '' }), readWorkers(sql, this.#endpoints.map(({ id }) => id)),
      accountsWithQuota(sql, this.#endpoints.map(({ accountId }) => accountId)), areGpusShort(sql), this.#readImages(),
    ]);
    this.#workers = Map.groupBy(workers, ({ endpointId }) => endpointId);
    this.#limited = limited;
    this.#contested = contested;
    this.#machines = new Map(machines.map((machine) => [machine.id, machine]));
  }

  /** What an endpoint's account has, or who else waits for GPUs, is read anew for its turn: what turns before it decided must be written by then. */
  readsAnew({ accountId, gpuCount }: ScaleEndpoint): boolean {
    return this.#limited.has(accountId) || (this.#contested && gpuCount > 0);
  }

  /** What an account may have and has. */
  async quotaOf(accountId: string): Promise<QuotaState> {
    return this.#limited.has(accountId) ? readQuotaState(this.#sql, accountId) : NO_QUOTA;
  }

  /** Who else waits for GPUs. Undefined: nobody does. */
  async contestOf(endpoint: ScaleEndpoint): Promise<GpuContest | undefined> {
    return this.#contested && endpoint.gpuCount > 0 ? readGpuContest(this.#sql, endpoint) : undefined;
  }

  /** Workers of an endpoint, oldest first. */
  workersOf(endpointId: string): readonly WorkerRow[] {
    return this.#workers.get(endpointId) ?? [];
  }

  /** All machines as an endpoint sees them. */
  machinesFor(endpoint: ScaleEndpoint): PlacementMachine[] {
    return this.crashed(endpoint, this.#machinesOf(endpoint));
  }

  /** The same for the version that is checked beside the one that is scaled: `crashes` of that. */
  machinesForChecked({ id, version }: EndpointVersion, crashes: readonly MachineCrashes[]): PlacementMachine[] {
    return withCrashes(this.#machinesOf({ id }), crashes, runsSomewhere(this.workersOf(id), version));
  }

  #machinesOf(endpoint: { id: string }): PlacementMachine[] {
    const images = this.#images.get(endpoint.id);
    const there = this.workersOf(endpoint.id).filter(({ desired, state }) => desired !== 'FREEZE' && state !== 'UNHEALTHY');
    const own = Map.groupBy(there, ({ machineId }) => machineId);
    return [...this.#machines!.values()].map((machine) => {
      const [siblings, hasImage] = [own.get(machine.id)?.length ?? 0, images?.has(machine.id) ?? false];
      return siblings === 0 && !hasImage ? machine : { ...machine, siblings, hasImage };
    });
  }

  /** These machines with what crashed there of an endpoint. */
  crashed({ id, version }: ScaleEndpoint, machines: readonly PlacementMachine[]): PlacementMachine[] {
    return withCrashes(machines, this.#crashes.get(id) ?? [], runsSomewhere(this.workersOf(id), version));
  }

  /** What a turn did, for the next ones. What it freed stays taken until all of them are over. */
  apply({ actions, throttled }: Pick<Decision, 'actions' | 'throttled'>): void {
    if (!this.#machines) return;
    if (throttled > 0) this.#contested = true;
    for (const action of actions) {
      if (action.do === 'ADD') {
        const machine = this.#machines.get(action.machineId);
        if (machine) this.#machines.set(machine.id, { ...occupied(machine, action), siblings: 0 });
        for (const id of action.evicted) this.#goes(id);
      } else if (action.do === 'FREEZE') {
        const machine = this.#machines.get(this.#find(action.workerId)?.machineId ?? '');
        const standby = { workerId: action.workerId, gpuUuids: [], instanceId: '', frozenMs: 0 };
        if (machine) this.#machines.set(machine.id, { ...machine, standbys: [...machine.standbys, standby] });
      } else {
        this.#wakes(action.workerId);
        if (action.do === 'PREEMPT') this.#goes(action.workerId);
      }
    }
  }

  /** What a frozen worker has is taken. */
  #wakes(workerId: string): void {
    for (const machine of this.#machines!.values()) {
      const standby = machine.standbys.find((one) => one.workerId === workerId);
      if (!standby) continue;
      const { gpuUuids, instanceId } = standby;
      const awake = occupied(machine, { machineId: machine.id, gpuUuids: [...gpuUuids], instanceId, evicted: [workerId] });
      const gpus = awake.gpus.map((gpu) => (gpuUuids.includes(gpu.uuid) ? { ...gpu, standby: false } : gpu));
      this.#machines!.set(machine.id, { ...awake, gpus, siblings: 0 });
    }
  }

  /** Another endpoint whose turn comes later sees that it goes. */
  #goes(workerId: string): void {
    const worker = this.#find(workerId);
    if (worker) Object.assign(worker, { desired: 'DRAIN', ageMs: 0 });
  }

  #find(workerId: string): WorkerRow | undefined {
    for (const workers of this.#workers.values()) {
      const found = workers.find(({ id }) => id === workerId);
      if (found) return found;
    }
    return undefined;
  }

  async #readImages(): Promise<void> {
    const asking = this.#endpoints.filter(({ imageName }) => imageName !== '');
    if (asking.length === 0) return;
    const rows = await this.#sql<{ endpointId: string; machineId: string }[]>`
      SELECT e.id AS "endpointId", i.machine_id AS "machineId"
      FROM unnest(${asking.map(({ id }) => id)}::text[], ${asking.map(({ version }) => version)}::int[], ${asking.map(({ imageName }) => imageName)}::text[])
        AS e (id, version, image_name)
      LEFT JOIN endpoint_image s ON s.endpoint_id = e.id AND s.version = e.version AND s.image_name = e.image_name
      JOIN machine_image i ON CASE WHEN coalesce(s.digest, '') = '' THEN i.name = e.image_name ELSE i.digest = s.digest END`;
    for (const { endpointId, machineId } of rows) {
      const machines = this.#images.get(endpointId) ?? new Set();
      this.#images.set(endpointId, machines.add(machineId));
    }
  }
}
