/**
 * Reports workers to core, but only changes. A worker's end is reported last, because core treats what an ended worker
 * still holds as lost. Until core has acknowledged all outcomes of its attempts the worker counts as DRAINING, however
 * long large results take to arrive.
 */
import type { WorkerReport } from '@slipway/proto/gen/slipway/v1/agent_service';
import { HttpHealth, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { memoryReport } from '../workloads/workers/memory-report.ts';
import type { Worker } from '../workloads/workers/worker.ts';
import type { RunRecorder } from './run-recorder.ts';
import type { ToCore } from './to-core.ts';
import type { WorkerCapacity, WorkerSlots } from './worker-capacity.ts';

export class WorkerReporter {
  readonly #toCore: Pick<ToCore, 'addWorker'>;
  readonly #workerCapacity: WorkerCapacity;
  /** Returns true if outcomes of the worker's attempts wait for their acknowledgement. */
  readonly #hasUnacknowledged: (workerId: string) => boolean;
  readonly #recorder: Pick<RunRecorder, 'worker'>;
  /** Capacity by worker, as last reported to core. */
  readonly #capacities = new Map<string, WorkerSlots>();
  /** Workers whose end was put into a report. */
  readonly #ended = new Set<string>();

  constructor(options: {
    toCore: Pick<ToCore, 'addWorker'>;
    workerCapacity: WorkerCapacity;
    hasUnacknowledged: (workerId: string) => boolean;
    recorder: Pick<RunRecorder, 'worker'>;
  }) {
    this.#toCore = options.toCore;
    this.#workerCapacity = options.workerCapacity;
    this.#hasUnacknowledged = options.hasUnacknowledged;
    this.#recorder = options.recorder;
  }

  /** Handles a change of its state, version or request to be replaced. */
  changed(worker: Worker): void {
    this.#capacities.delete(worker.id);
    this.#recorder.worker(worker);
    this.#toCore.addWorker(worker.id);
  }

  /** Handles a possible change of its attempts or open takes. */
  capacityChanged(worker: Worker): void {
    if (worker.hasEnded) return;
    const reported = this.#capacities.get(worker.id);
    const { capacity, keepsAhead, blocked } = this.#workerCapacity.of(worker);
    if (capacity !== reported?.capacity || keepsAhead !== reported.keepsAhead || blocked !== reported.blocked)
      this.#toCore.addWorker(worker.id);
  }

  /** Handles the acknowledgement of its last outcome: its end may be reported. */
  acknowledged(worker: Worker): void {
    if (worker.hasEnded && !this.#ended.has(worker.id)) this.#toCore.addWorker(worker.id);
  }

  /** Returns true if its end was put into a report for core. */
  hasReportedEnd(workerId: string): boolean {
    return this.#ended.has(workerId);
  }

  /** Forgets a worker. */
  drop(workerId: string): void {
    this.#capacities.delete(workerId);
    this.#ended.delete(workerId);
  }

  /** Composes the report for the message that is being sent. */
  take(worker: Worker): WorkerReport {
    const { capacity, keepsAhead, blocked } = this.#workerCapacity.of(worker);
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
      takesAhead: !worker.hasEnded && this.#workerCapacity.takesAhead(worker),
      keepsAhead,
      blocked,
      ...memoryReport(worker),
    };
    if (!worker.hasEnded) return report;
    if (this.#hasUnacknowledged(worker.id)) {
      this.#ended.delete(worker.id);
      return { ...report, state: WorkerState.DRAINING, reason: '', exitCode: undefined };
    }
    this.#ended.add(worker.id);
    return report;
  }
}
