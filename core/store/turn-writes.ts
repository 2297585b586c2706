/**
 * What turns of one transaction write whose answers nobody needs: kept until they are over, and then written with one statement of each kind, however many
 * endpoints there were. Whoever waits for the placement lock waits for each of them.
 */
import type { WorkerAction } from '../domain/place-workers.ts';
import type { Decision, DecisionSample } from '../domain/scale-decision.ts';
import type { Sql } from './database.ts';
import { writeRollouts } from './rollout-rows.ts';
import type { SteppedRollout } from './rollout-rows.ts';
import { logDecisions, noteDecisions } from './scale-log-rows.ts';
import type { LoggedTurn, NotedTurn } from './scale-log-rows.ts';
import { lockPlacement } from './standby-rows.ts';
import { lockedInOrder } from './worker-order.ts';

/** A worker that is to be. */
interface AddedWorker {
  endpointId: string;
  version: number;
  id: string;
  action: WorkerAction & { do: 'ADD' };
}

export class TurnWrites {
  readonly #sql: Sql;
  #added: AddedWorker[] = [];
  #drained: string[] = [];
  #logged: LoggedTurn[] = [];
  #noted: NotedTurn[] = [];
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

  step(rollout: SteppedRollout): void {
    this.#rollouts.push(rollout);
  }

  log(endpointId: string, decision: Decision, sample: DecisionSample): void {
    this.#logged.push({ endpointId, decision, sample });
  }

  note(endpointId: string, { refusalByMachine }: Decision): void {
    this.#noted.push({ endpointId, refusalByMachine });
  }

  /** Writes the workers that were added so far: who reads machines anew must see them. */
  async workers(): Promise<void> {
    const added = this.#added;
    this.#added = [];
    if (added.length === 0) return;
    await this.#sql`
      INSERT INTO worker (id, endpoint_id, machine_id, version, gpu_uuids, instance_id, failures)
      SELECT id, endpoint_id, machine_id, version, string_to_array(gpus, ','), instance_id, failures
      FROM unnest(${added.map(({ id }) => id)}::text[], ${added.map(({ endpointId }) => endpointId)}::text[],
        ${added.map(({ action }) => action.machineId)}::text[], ${added.map(({ version }) => version)}::int[],
        ${added.map(({ action }) => action.gpuUuids.join())}::text[], ${added.map(({ action }) => action.instanceId)}::text[],
        ${added.map(({ action }) => action.failures)}::int[]) AS a (id, endpoint_id, machine_id, version, gpus, instance_id, failures)`;
  }

  /** Everything so far, sent together: who reads what accounts have, or who waits for GPUs, must see it. */
  async all(): Promise<void> {
    const [logged, noted, rollouts] = [this.#logged, this.#noted, this.#rollouts];
    [this.#logged, this.#noted, this.#rollouts] = [[], [], []];
    await Promise.all([
      this.workers(), logDecisions(this.#sql, logged), noteDecisions(this.#sql, noted), writeRollouts(this.#sql, rollouts), this.#drains(),
    ]);
  }

  /** Under the placement lock, as somebody may ask one of them to give way just now; last of all, so that turns which place nothing hold it for no longer. */
  async #drains(): Promise<void> {
    const drained = this.#drained;
    this.#drained = [];
    if (drained.length === 0) return;
    const going = lockedInOrder(this.#sql, this.#sql`id = ANY(${drained}) AND desired IN ('RUN', 'FREEZE')`);
    await Promise.all([lockPlacement(this.#sql), this.#sql`
      UPDATE worker w SET desired = 'DRAIN', desired_at = now() FROM ${going} AS l WHERE w.id = l.id`]);
  }
}
