/** Tells core about workers, and only what changed. */
import type { WorkerReport } from '../../proto/gen/slipway/v1/agent_service.ts';
import type { Outbox } from '../session/outbox.ts';
import type { Worker } from './worker.ts';

/** See the file's first line. */
export class WorkerReporter {
  readonly #outbox: Outbox;

  constructor(outbox: Outbox) {
    this.#outbox = outbox;
  }

  /** Its state, version or wish to be replaced changed. */
  changed(worker: Worker): void {
    worker.reportedCapacity = -1;
    this.#outbox.addWorker(worker.id, worker.hasEnded);
  }

  /** What it holds or asks for may have changed. */
  capacityChanged(worker: Worker): void {
    if (!worker.hasEnded && worker.report().capacity !== worker.reportedCapacity) this.#outbox.addWorker(worker.id, false);
  }

  /** The report that goes into a message now. */
  static take(worker: Worker): WorkerReport {
    const report = worker.report();
    worker.reportedCapacity = report.capacity;
    return report;
  }
}
