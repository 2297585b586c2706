/**
 * Tells core about workers, and only what changed. A worker's end is told last: core takes what an ended worker still holds as lost, so
 * until core has acknowledged all outcomes of its attempts the worker counts as DRAINING, however long large results are on their way.
 */
import type { WorkerReport } from '../../proto/gen/slipway/v1/agent_service.ts';
import { WorkerState } from '../../proto/gen/slipway/v1/machine.ts';
import type { Outbox } from '../session/outbox.ts';
import type { Worker } from '../units/workers/worker.ts';

export class WorkerReporter {
  readonly #outbox: Outbox;
  /** Outcomes of the worker's attempts wait for their acknowledgement. */
  readonly #owes: (workerId: string) => boolean;

  constructor(options: { outbox: Outbox; owes: (workerId: string) => boolean }) {
    this.#outbox = options.outbox;
    this.#owes = options.owes;
  }

  /** Its state, version or request to be replaced changed. */
  changed(worker: Worker): void {
    worker.reportedCapacity = -1;
    this.#outbox.addWorker(worker.id);
  }

  /** What it holds or asks for may have changed. */
  capacityChanged(worker: Worker): void {
    if (!worker.hasEnded && worker.report().capacity !== worker.reportedCapacity) this.#outbox.addWorker(worker.id);
  }

  /** It owes no outcome any more: its end may be told. */
  settled(worker: Worker): void {
    if (worker.hasEnded && !worker.endReported) this.#outbox.addWorker(worker.id);
  }

  /** The report that goes into a message now. */
  take(worker: Worker): WorkerReport {
    const report = worker.report();
    worker.reportedCapacity = report.capacity;
    if (!worker.hasEnded) return report;
    worker.endReported = !this.#owes(worker.id);
    return worker.endReported ? report : { ...report, state: WorkerState.DRAINING, reason: '', exitCode: undefined };
  }
}
