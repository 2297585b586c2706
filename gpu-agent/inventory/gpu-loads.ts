/**
 * Reads the load of this machine's GPUs while the agent runs. A machine whose GPUs are all virtual has no driver to
 * ask.
 */

import { Loop } from '@slipway/kit/lifecycle/loop';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { GpuLoad } from '@slipway/proto/gen/slipway/v1/machine';
import type { DriverQuery } from './ask-driver.ts';
import { askColumnsOfAny, listAny, summaryOfAny } from './ask-driver.ts';
import type { MachineGpu } from './machine-gpu.ts';
import { LOAD_FIELDS, parseLoads } from './nvidia-smi-output.ts';

/** Interval between two reads, in milliseconds. A scrape of metrics every 15 s finds a new value. */
const PERIOD_MS = 5_000;
/**
 * Largest share of the time for which a slow driver is queried. Without persistence mode it wakes idle cards for each
 * answer.
 */
const SHARE_MAX = 1 / 20;

/** Dependencies of the reader. */
interface GpuLoadsOptions {
  /** Returns the GPUs as they were at the start. */
  gpus(): readonly MachineGpu[];
  /** Called when the load of some GPUs has changed. */
  onChange(): void;
  /** Runs nvidia-smi. Default: as a child of this process. */
  ask?: DriverQuery | undefined;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class GpuLoads extends Loop {
  readonly #options: GpuLoadsOptions;
  #loads: readonly GpuLoad[] = [];
  #notBeforeMs = -Infinity;

  constructor(options: GpuLoadsOptions) {
    super({ ...options, name: 'GPU loads', periodMs: PERIOD_MS, pass: () => this.look() });
    this.#options = options;
  }

  /** The last loads that the driver reported; empty while the driver is silent. */
  get loads(): readonly GpuLoad[] {
    return this.#loads;
  }

  /** Reads the loads from the driver. Never rejects. */
  async look(): Promise<void> {
    const { gpus, onChange, clock } = this.#options;
    const real = gpus().filter(({ virtual }) => !virtual);
    const fromMs = clock.monotonicMs();
    if (real.length === 0 || fromMs < this.#notBeforeMs) return;
    const loads = await this.#read(real);
    this.#notBeforeMs = fromMs + (clock.monotonicMs() - fromMs) / SHARE_MAX;
    if (JSON.stringify(loads) === JSON.stringify(this.#loads)) return;
    this.#loads = loads;
    onChange();
  }

  async #read(real: readonly MachineGpu[]): Promise<GpuLoad[]> {
    const { ask, logger } = this.#options;
    const query = await askColumnsOfAny(LOAD_FIELDS, ask);
    if (query === undefined) {
      logger.debug('nvidia-smi did not answer, how busy GPUs are is not known');
      return [];
    }
    const isSliced = real.some(({ migProfile }) => migProfile !== '');
    // Old drivers print no table of slices.
    const [list, summary] = isSliced ? [(await listAny(ask)) ?? '', (await summaryOfAny(ask)) ?? ''] : ['', ''];
    return parseLoads(real, query, list, summary);
  }
}
