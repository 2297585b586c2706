/**
 * Writes of a reconcile transaction whose results are not needed. They are collected and written at the end, one
 * statement per kind, however many endpoints there are, because others wait for the placement lock.
 */
import type { WorkerAction } from '../../domain/scaling/place-workers.ts';
import type { Decision, DecisionSample } from '../../domain/scaling/scale-decision.ts';
import type { SteppedRollout } from '../resources/rollout-rows.ts';
import { writeRollouts } from '../resources/rollout-rows.ts';
import type { Sql } from '../sql/database.ts';
import { lockedInOrder } from '../sql/worker-order.ts';
import type { DecisionToLog, UpdatedRefusal } from './scale-log-rows.ts';
import { logDecisions, updateRefusals } from './scale-log-rows.ts';
import { lockPlacement, retireWorkers } from './standby-rows.ts';

/** A new worker. */
interface AddedWorker {
  endpointId: string;
  version: number;
  id: string;
  action: WorkerAction & { do: 'ADD' };
}

export class ReconcileWrites {
  readonly #sql: Sql;
  #added: AddedWorker[] = [];
  #drained: string[] = [];
  #retired: string[] = [];
  #logged: DecisionToLog[] = [];
  #updated: UpdatedRefusal[] = [];
  #rollouts: SteppedRollout[] = [];

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  add(workers: readonly AddedWorker[]): void {
    this.#added.push(...workers);
  }

  drain(workerIds: readonly string[]): void {
    this.#drained.push(...workerIds);
  }

  retire(workerIds: readonly string[]): void {
    this.#retired.push(...workerIds);
  }

  step(rollout: SteppedRollout): void {
    this.#rollouts.push(rollout);
  }

  log(endpointId: string, decision: Decision, sample: DecisionSample): void {
    this.#logged.push({ endpointId, decision, sample });
  }

  updateRefusal(endpointId: string, { refusalByMachine }: Decision): void {
    this.#updated.push({ endpointId, refusalByMachine });
  }

  /** Writes the workers added so far, so that a new read of the machines sees them. */
  async flushWorkers(): Promise<void> {
    const added = this.#added;
    this.#added = [];
    if (added.length === 0) return;
    await this.#sql`
      INSERT INTO worker (id, endpoint_id, machine_id, version, gpu_uuids, instance_id, failures)
      SELECT id, endpoint_id, machine_id, version, string_to_array(gpus, ','), instance_id, failures
      FROM unnest(${added.map(({ id }) => id)}::text[], ${added.map(({ endpointId }) => endpointId)}::text[],
        ${added.map(({ action }) => action.machineId)}::text[], ${added.map(({ version }) => version)}::int[],
        ${added.map(({ action }) => action.gpuUuids.join())}::text[],
        ${added.map(({ action }) => action.instanceId)}::text[],
        ${added.map(({ action }) => action.failures)}::int[]) AS a (id, endpoint_id, machine_id, version, gpus,
        instance_id, failures)`;
  }

  /** Writes everything so far in one round trip, so that a new read of accounts' use and of GPU contention sees it. */
  async flush(): Promise<void> {
    const [logged, updated, rollouts] = [this.#logged, this.#updated, this.#rollouts];
    [this.#logged, this.#updated, this.#rollouts] = [[], [], []];
    await Promise.all([
      this.flushWorkers(),
      logDecisions(this.#sql, logged),
      updateRefusals(this.#sql, updated),
      writeRollouts(this.#sql, rollouts),
      this.#stops(),
    ]);
  }

  /**
   * Drains and retires workers under the placement lock, as another endpoint may preempt one of them at the same time.
   * Runs last, so that reconciles which place nothing hold the lock only briefly.
   */
  async #stops(): Promise<void> {
    const [drained, retired] = [this.#drained, this.#retired];
    [this.#drained, this.#retired] = [[], []];
    if (drained.length + retired.length === 0) return;
    await Promise.all([lockPlacement(this.#sql), this.#drains(drained), retireWorkers(this.#sql, retired)]);
  }

  async #drains(drained: readonly string[]): Promise<void> {
    if (drained.length === 0) return;
    const going = lockedInOrder(this.#sql, this.#sql`id = ANY(${[...drained]}) AND desired IN ('RUN', 'FREEZE')`);
    await this.#sql`
      UPDATE worker w SET desired = 'DRAIN', desired_at = now() FROM ${going} AS l WHERE w.id = l.id`;
  }
}
