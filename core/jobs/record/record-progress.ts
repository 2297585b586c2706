/** Stores progress values. Only the latest of an attempt counts, so older ones are dropped early. */

import type { SlicedWork } from '@slipway/kit/bytes/sliced-work';
import type { TaskGroup } from '@slipway/kit/lifecycle/task-group';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import type { MachineAttempt } from '../../domain/jobs/job.ts';
import type { ProgressEntry } from '../../store/jobs/chunk-store.ts';
import type { Stores } from '../../store/storage.ts';
import { isShowable } from './check-json.ts';

interface RecordProgressOptions {
  stores: Pick<Stores, 'chunks'>;
  /** Validates user data in slices, fair by account. */
  checks: SlicedWork;
  tasks: TaskGroup;
  clock: Clock;
  logger: Logger;
}

/** Values of one statement, and number and bytes of values that may wait. Further values are dropped. */
const BATCH_ITEMS_MAX = 200;
const WAITING_MAX = 10_000;
const WAITING_BYTES_MAX = 32 * 1024 * 1024;
/** Pause between two statements, in milliseconds. Clients do not poll progress faster. */
const PAUSE_MS = 50;

export class RecordProgress {
  readonly #options: RecordProgressOptions;
  readonly #waiting = new Map<string, ProgressEntry>();
  /** Latest values being validated, by attempt. */
  readonly #checking = new Map<string, Buffer>();
  #bytes = 0;
  #running = false;

  constructor(options: RecordProgressOptions) {
    this.#options = options;
  }

  /** Accepts the latest value of an attempt. Drops a value that is not JSON. */
  show(key: MachineAttempt, output: Buffer): void {
    this.forget(key);
    const checked = this.#options.checks.run(key.endpointId, output.length, isShowable(output));
    if (checked instanceof Promise) this.#showWhenChecked(key, output, checked);
    else if (checked) this.#show(key, output);
  }

  #showWhenChecked(key: MachineAttempt, output: Buffer, checked: Promise<boolean>): void {
    const name = nameOf(key);
    this.#checking.set(name, output);
    void checked
      .catch(() => false)
      .then((isSound) => {
        // A later value or the end of the attempt was recorded first.
        if (this.#checking.get(name) !== output) return;
        this.#checking.delete(name);
        if (isSound) this.#show(key, output);
      });
  }

  #show(key: MachineAttempt, output: Buffer): void {
    if (this.#waiting.size >= WAITING_MAX || this.#bytes + output.length > WAITING_BYTES_MAX) return;
    const { endpointId, jobId, attempt, machineId } = key;
    this.#waiting.set(nameOf(key), { endpointId, jobId, attempt, machineId, output });
    this.#bytes += output.length;
    if (this.#running) return;
    this.#running = true;
    this.#options.tasks.own(this.#run(), (error) =>
      this.#options.logger.warn({ err: error }, 'progress was not shown'),
    );
  }

  /** Drops the waiting value of an attempt that has ended. */
  forget(key: MachineAttempt): void {
    // Fast path: every outcome calls this, and most jobs have no progress.
    if (this.#checking.size === 0 && this.#waiting.size === 0) return;
    this.#checking.delete(nameOf(key));
    const earlier = this.#waiting.get(nameOf(key));
    if (!earlier) return;
    this.#waiting.delete(nameOf(key));
    this.#bytes -= earlier.output.length;
  }

  async #run(): Promise<void> {
    const { stores, clock, tasks } = this.#options;
    try {
      while (this.#waiting.size > 0 && !tasks.signal.aborted) {
        await stores.chunks.showProgress(this.#take());
        await delay(clock, PAUSE_MS, tasks.signal);
      }
    } finally {
      this.#running = false;
    }
  }

  /**
   * Returns the oldest waiting values, ordered by job. At most one value of a job is of its current attempt and
   * machine.
   */
  #take(): ProgressEntry[] {
    const taken = [...this.#waiting.entries()].slice(0, BATCH_ITEMS_MAX);
    for (const [, entry] of taken) this.forget(entry);
    return taken.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry);
  }
}

function nameOf(key: MachineAttempt): string {
  return `${key.endpointId}/${key.jobId}/${key.attempt}/${key.machineId}`;
}
