/** Stores pods as their owners want them. The state that agents report is written in pod-report-store. */
import { and, eq, sql } from '@slipway/drizzle/orm';
import { pod } from '@slipway/drizzle/schema/pod';
import type { Sealer } from '@slipway/kit/host/seal';
import type { Actor } from '../../domain/accounts/permission.ts';
import type { QuotaState } from '../../domain/accounts/quota.ts';
import { sameCard } from '../../domain/machines/gpu-pools.ts';
import type { Pod, PodSettings } from '../../domain/pods/pod.ts';
import type { CreationKey } from '../../domain/resources/creation-key.ts';
import { changedValues, createdValues } from '../../domain/resources/release-values.ts';
import type { PlacementSlot } from '../../domain/scaling/placement.ts';
import type { PlacementMachine } from '../../domain/scaling/placement-machine.ts';
import { invalid } from '../../domain/settings/fields.ts';
import { podEnvIdentity, podTemplateEnvIdentity } from '../../domain/settings/sealed-identity.ts';
import { recordChange } from '../accounts/audit-rows.ts';
import { readQuotaState } from '../accounts/quota-rows.ts';
import type { RunningJobs } from '../jobs/running-jobs.ts';
import { claimCreation } from '../resources/creation-rows.ts';
import { holdRegistryAuth } from '../resources/registry-auth-rows.ts';
import { holdVolumes } from '../resources/volume-rows.ts';
import type { PlacementQuery } from '../scaling/placement-view.ts';
import { placementView } from '../scaling/placement-view.ts';
import { evictStandbys, offloadWorkers } from '../scaling/standby-rows.ts';
import type { Database, Statement, Transaction } from '../sql/database.ts';
import { statementOf } from '../sql/database.ts';
import { sealEnv } from '../sql/env-seals.ts';
import { isGpuTaken, retryOnDeadlock } from '../sql/transient.ts';
import { placeWithIdle } from './pod-placement.ts';
import { podFromRow } from './pod-rows.ts';

/** A change of a pod. */
export interface PodChange {
  /** Name of the RPC, for the audit trail. */
  action: string;
  /** Names of the fields that the caller set. */
  fields: readonly string[];
  settings?: Partial<PodSettings>;
  /** Starts a new run, or stops the pod. Absent: neither. */
  run?: 'anew' | 'not';
  /** True if the pod gets an empty disk. */
  emptyDisk?: boolean;
}

/** Fields of a new pod besides its settings. */
interface NewPod {
  id: string;
  /** Variables that its own environment overrides. Never shown. */
  templateEnv: Readonly<Record<string, string>>;
  /** True: it is created EXITED, and holds no GPU. */
  isStopped: boolean;
  /** `undefined` if the creation is not repeatable. */
  key?: CreationKey | undefined;
}

/** Columns of a pod that is created without a run. */
const STOPPED = { desired: 'EXITED', state: 'EXITED', gpuUuids: [] };

export class PodStore {
  readonly #database: Database;
  readonly #sealer: Sealer;

  readonly #running: RunningJobs;

  constructor(database: Database, sealer: Sealer, running: RunningJobs) {
    this.#database = database;
    this.#sealer = sealer;
    this.#running = running;
  }

  /**
   * Creates a pod at the slot that `choose` returns. `choose` gets the machines under the placement lock, and the data
   * center of the pod's network volume, if any. Throws INVALID_REQUEST if the registry credentials or the volume are
   * not in the account. RepeatedCreation: the pod was created before.
   */
  async create(
    { id, templateEnv, isStopped, key }: NewPod,
    actor: Actor,
    settings: PodSettings,
    fields: readonly string[],
    choose: (
      machines: readonly PlacementMachine[],
      dataCenterIds: readonly string[],
      quota: QuotaState,
    ) => PlacementSlot,
  ): Promise<Pod> {
    return this.#placing(async (tx) => {
      const { accountId } = actor;
      await claimCreation(tx, key, id);
      await holdRegistryAuth(tx, accountId, settings.registryAuthId);
      const dataCenterIds = await placesOfVolume(tx, accountId, settings.networkVolumeId);
      const machines = await placementView(statementOf(tx), viewFor(settings));
      const quota = await readQuotaState(statementOf(tx), accountId);
      const placement = await this.#place(machines, (seen) => choose(seen, dataCenterIds, quota));
      if (!isStopped) await freeGpus(statementOf(tx), placement);
      const placed = { ...placeOf(machines, placement), ...(isStopped && STOPPED) };
      const templateEnvSealed = sealEnv(this.#sealer, templateEnv, podTemplateEnvIdentity(id)).envSealed;
      const [row] = await tx
        .insert(pod)
        .values({ ...settings, ...this.#sealed(id, settings), templateEnvSealed, ...placed, id, accountId })
        .returning();
      const values = createdValues(settings, fields);
      await recordChange(tx, { ...actor, action: 'CreatePod', subjectId: id, fields, values });
      return podFromRow(this.#sealer, row!);
    });
  }

  /**
   * Changes a pod under its lock. `decide` gets the current pod and returns the change, `undefined` for none. A stopped
   * pod that should run gets the GPUs that `choose` returns. Returns `undefined` if there is no such pod in this
   * account.
   */
  async change(
    id: string,
    actor: Actor,
    decide: (current: Pod) => PodChange | undefined,
    choose: (current: Pod, machines: readonly PlacementMachine[], quota: QuotaState) => PlacementSlot,
  ): Promise<Pod | undefined> {
    return this.#placing(async (tx) => {
      const current = await this.#locked(tx, id, actor.accountId);
      const change = current && decide(current);
      if (!current || !change) return current;
      const { action, fields, settings = {}, run, emptyDisk } = change;
      if (settings.registryAuthId !== undefined) await holdRegistryAuth(tx, actor.accountId, settings.registryAuthId);
      const set = { ...settings, ...this.#sealed(id, settings), ...(emptyDisk && { disk: current.disk + 1 }) };
      if (run === 'not') Object.assign(set, { desired: 'EXITED', gpuUuids: [] });
      if (run === 'anew') Object.assign(set, freshRun(current));
      if (run === 'anew' && current.desired === 'EXITED') {
        const machines = await placementView(statementOf(tx), viewFor({ ...current, ...settings }));
        const quota = await readQuotaState(statementOf(tx), actor.accountId);
        // A trigger that fires when `desired` is set meters usage, so it is set only where it changes.
        const placement = await this.#place(machines, (seen) => choose(current, seen, quota));
        await freeGpus(statementOf(tx), placement);
        Object.assign(set, { desired: 'RUNNING' }, placeOf(machines, placement));
      }
      const [row] = await tx.update(pod).set(set).where(eq(pod.id, id)).returning();
      const values = changedValues(current, settings);
      await recordChange(tx, { ...actor, action, subjectId: id, fields, values });
      return podFromRow(this.#sealer, row!);
    });
  }

  /** Deletes a pod. Returns its machine. `undefined` if there is no such pod in this account. */
  async remove(id: string, actor: Actor): Promise<string | undefined> {
    return this.#database.db.transaction(async (tx) => {
      const [row] = await tx
        .delete(pod)
        .where(and(eq(pod.id, id), eq(pod.accountId, actor.accountId)))
        .returning({ machineId: pod.machineId, name: pod.name });
      if (row)
        await recordChange(tx, { ...actor, action: 'DeletePod', subjectId: id, subjectName: row.name, fields: [] });
      return row?.machineId;
    });
  }

  /**
   * Runs a transaction, and retries it if one of its GPUs was taken first. That can happen only for GPUs that were
   * taken without the placement lock.
   */
  #placing<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    return retryOnDeadlock(() => this.#database.db.transaction(work), isGpuTaken);
  }

  #place(
    machines: readonly PlacementMachine[],
    choose: (machines: readonly PlacementMachine[]) => PlacementSlot,
  ): Promise<PlacementSlot> {
    return placeWithIdle({ hot: this.#database.hot, running: this.#running }, machines, choose);
  }

  async #locked(tx: Transaction, id: string, accountId: string): Promise<Pod | undefined> {
    const [row] = await tx
      .select()
      .from(pod)
      .where(and(eq(pod.id, id), eq(pod.accountId, accountId)))
      .for('update');
    return row && podFromRow(this.#sealer, row);
  }

  #sealed(id: string, { env }: Partial<PodSettings>) {
    return env && sealEnv(this.#sealer, env, podEnvIdentity(id));
  }
}

/** Returns the placement query of a pod. It names its image only: the digest is resolved when it starts. */
function viewFor({ imageName }: Pick<PodSettings, 'imageName'>): PlacementQuery {
  return { endpointId: '', imageName, imageDigest: '' };
}

/** Lets standby workers leave the GPUs of a slot. */
async function freeGpus(statement: Statement, { evicted, offloaded = [] }: PlacementSlot): Promise<void> {
  await evictStandbys(statement, evicted);
  await offloadWorkers(statement, offloaded);
}

/** Returns the columns of a new run, whose state is not observed yet. */
function freshRun(current: Pod) {
  return {
    run: current.run + 1,
    state: 'STARTING',
    statusText: '',
    exitCode: null,
    lastStartedAt: sql`now()`,
    stateChangedAt: sql`now()`,
  };
}

/** Returns the columns of a slot, with the name of its GPUs. */
function placeOf(machines: readonly PlacementMachine[], { machineId, gpuUuids, instanceId }: PlacementSlot) {
  const gpu = machines
    .find((machine) => machine.id === machineId)
    ?.gpus.find((candidate) => candidate.uuid === gpuUuids[0]);
  return { machineId, gpuUuids, instanceId, gpuTypeId: gpu ? sameCard(gpu.name) : '' };
}

/**
 * Locks the pod's network volume against deletion and returns its data center. Throws INVALID_REQUEST if it is not in
 * this account.
 */
async function placesOfVolume(tx: Transaction, accountId: string, id: string | null): Promise<string[]> {
  if (id === null) return [];
  const volumes = await holdVolumes(tx, accountId, [id]);
  if (volumes.length === 0)
    throw invalid(`network_volume_id: there is no network volume ${JSON.stringify(id.slice(0, 64))} in this account`);
  return volumes.map((volume) => volume.dataCenterId);
}
