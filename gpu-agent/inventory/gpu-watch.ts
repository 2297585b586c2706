/**
 * Watches whether this machine's GPUs are well: one that the driver lists no more (it fell off the bus), or whose
 * memory can no longer be repaired, gets nothing new. What runs on it goes on, and ends as it can.
 */

import { Loop } from '@slipway/kit/lifecycle/loop';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { askColumnsOfAny, listAny } from './ask-driver.ts';
import type { MachineGpu } from './machine-gpu.ts';
import { HEALTH_FIELDS, parseFaults } from './nvidia-smi-output.ts';

const PERIOD_MS = 60_000;

/** What it needs. */
export interface GpuWatchOptions {
  /** GPUs as they were at the start. */
  gpus(): readonly MachineGpu[];
  /** A GPU is well that was not, or the other way round. */
  onChange(): void;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class GpuWatch extends Loop {
  readonly #options: GpuWatchOptions;
  /** Why nothing may run on a GPU, by UUID. */
  #faults: ReadonlyMap<string, string> = new Map();

  constructor(options: GpuWatchOptions) {
    super({ ...options, name: 'GPU watch', periodMs: PERIOD_MS, pass: () => this.look() });
    this.#options = options;
  }

  /** Why nothing may run on a GPU; empty: it is well. */
  faultOf(uuid: string): string {
    return this.#faults.get(uuid) ?? '';
  }

  /** Asks the driver. Never rejects. */
  async look(): Promise<void> {
    const { gpus, onChange, logger } = this.#options;
    const real = gpus().filter(({ virtual }) => !virtual);
    if (real.length === 0) return;
    const list = await listAny();
    if (list === undefined) {
      // What was known stays.
      logger.warn('nvidia-smi did not answer, the health of GPUs is not known');
      return;
    }
    // Old drivers do not know the fields; what is listed is well then.
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
        faults.has(uuid) ? 'a GPU is not well' : 'a GPU is well again',
      );
    }
    if (changed.length > 0) onChange();
  }
}
