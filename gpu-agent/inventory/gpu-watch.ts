/**
 * Watches the health of this machine's GPUs. A GPU that the driver no longer lists (it fell off the bus), or whose
 * memory can no longer be repaired, gets nothing new. Workloads on it go on, and end as they can.
 */

import { Loop } from '@slipway/kit/lifecycle/loop';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { askColumnsOfAny, listAny } from './ask-driver.ts';
import type { MachineGpu } from './machine-gpu.ts';
import { HEALTH_FIELDS, parseFaults } from './nvidia-smi-output.ts';

const PERIOD_MS = 60_000;

/** Dependencies of the watch. */
interface GpuWatchOptions {
  /** GPUs as they were at the start. */
  gpus(): readonly MachineGpu[];
  /** Called when the health of a GPU has changed. */
  onChange(): void;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class GpuWatch extends Loop {
  readonly #options: GpuWatchOptions;
  /** Reasons why nothing may run on a GPU, by UUID. */
  #faults: ReadonlyMap<string, string> = new Map();

  constructor(options: GpuWatchOptions) {
    super({ ...options, name: 'GPU watch', periodMs: PERIOD_MS, pass: () => this.look() });
    this.#options = options;
  }

  /** Returns why nothing may run on a GPU; empty if it is healthy. */
  faultOf(uuid: string): string {
    return this.#faults.get(uuid) ?? '';
  }

  /** Checks the GPUs. Never rejects. */
  async look(): Promise<void> {
    const { gpus, onChange, logger } = this.#options;
    const real = gpus().filter(({ virtual }) => !virtual);
    if (real.length === 0) return;
    const list = await listAny();
    if (list === undefined) {
      // The known faults stay.
      logger.warn('nvidia-smi did not answer, the health of GPUs is not known');
      return;
    }
    // Old drivers do not know the fields; then every listed GPU counts as healthy.
    const faults = parseFaults(
      real.map(({ uuid }) => uuid),
      list,
      (await askColumnsOfAny(HEALTH_FIELDS)) ?? '',
    );
    const changed = real.filter(({ uuid }) => faults.get(uuid) !== this.#faults.get(uuid));
    this.#faults = faults;
    for (const { uuid, name } of changed) {
      logger.warn(
        { uuid, name, fault: faults.get(uuid) ?? '' },
        faults.has(uuid) ? 'a GPU is unhealthy' : 'a GPU is healthy again',
      );
    }
    if (changed.length > 0) onChange();
  }
}
