/**
 * Tells core about workers, and only what changed. A worker's end is told last: core takes what an ended worker still
 * holds as lost, so until core has acknowledged all outcomes of its attempts the worker counts as DRAINING, however
 * long large results are on their way.
 */
import type { WorkerReport } from '@slipway/proto/gen/slipway/v1/agent_service';
import { HttpHealth, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { Worker } from '../units/workers/worker.ts';
import type { Keeper } from './keeper.ts';
import type { ToCore } from './to-core.ts';
import type { Room, WorkerCapacity } from './worker-capacity.ts';

export class WorkerReporter {
  readonly #toCore: Pick<ToCore, 'addWorker'>;
  readonly #room: WorkerCapacity;
  /** Outcomes of the worker's attempts wait for their acknowledgement. */
  readonly #owes: (workerId: string) => boolean;
  readonly #keeper: Pick<Keeper, 'worker'>;
  /** By worker, as core last heard it. */
  readonly #capacities = new Map<string, Room>();
  /** Workers of whose end a report was made. */
  readonly #ended = new Set<string>();

  constructor(options: {
    toCore: Pick<ToCore, 'addWorker'>;
    room: WorkerCapacity;
    owes: (workerId: string) => boolean;
    keeper: Pick<Keeper, 'worker'>;
  }) {
    this.#toCore = options.toCore;
    this.#room = options.room;
    this.#owes = options.owes;
    this.#keeper = options.keeper;
  }

  /** Its state, version or request to be replaced changed. */
  changed(worker: Worker): void {
    this.#capacities.delete(worker.id);
    this.#keeper.worker(worker);
    this.#toCore.addWorker(worker.id);
  }

  /** What it holds or asks for may have changed. */
  capacityChanged(worker: Worker): void {
    if (worker.hasEnded) return;
    const told = this.#capacities.get(worker.id);
    const { capacity, keepsAhead, blocked } = this.#room.of(worker);
    if (capacity !== told?.capacity || keepsAhead !== told.keepsAhead || blocked !== told.blocked)
      this.#toCore.addWorker(worker.id);
  }

  /** It owes no outcome any more: its end may be told. */
  settled(worker: Worker): void {
    if (worker.hasEnded && !this.#ended.has(worker.id)) this.#toCore.addWorker(worker.id);
  }

  /** A report of its end was made for core. */
  hasToldEnd(workerId: string): boolean {
    return this.#ended.has(workerId);
  }

  /** The worker is forgotten. */
  drop(workerId: string): void {
    this.#capacities.delete(workerId);
    this.#ended.delete(workerId);
  }

  /** The report that goes into a message now. */
  take(worker: Worker): WorkerReport {
    const { capacity, keepsAhead, blocked } = this.#room.of(worker);
    this.#capacities.set(worker.id, { capacity, keepsAhead, blocked });
    const { id: workerId, endpointId, state, reason, sdk, refresh } = worker;
    const report = {
      workerId,
      endpointId,
      state,
      capacity,
      reason,
      exitCode: worker.end.exitCode,
      sdkVersion: sdk.version,
      refresh,
      address: worker.http?.address ?? '',
      health: worker.http?.health ?? HttpHealth.UNSPECIFIED,
      singleUse: worker.http?.singleUse ?? false,
      takesAhead: !worker.hasEnded && this.#room.takesAhead(worker),
      keepsAhead,
      blocked,
    };
    if (!worker.hasEnded) return report;
    if (this.#owes(worker.id)) {
      this.#ended.delete(worker.id);
      return { ...report, state: WorkerState.DRAINING, reason: '', exitCode: undefined };
    }
    this.#ended.add(worker.id);
    return report;
  }
}
