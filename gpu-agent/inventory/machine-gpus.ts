/**
 * The GPUs of this machine: those that its driver has when the agent starts and those of its configuration, and how
 * they are from then on.
 */

import type { Service } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { GpuLoad } from '@slipway/proto/gen/slipway/v1/machine';
import { GpuLoads } from './gpu-loads.ts';
import { GpuWatch } from './gpu-watch.ts';
import type { MachineGpu } from './machine-gpu.ts';
import { readGpus } from './read-gpus.ts';
import { makeVirtualGpus } from './virtual-gpus.ts';

/** What they need. */
export interface MachineGpusOptions {
  /** Of the configuration. */
  virtual: Parameters<typeof makeVirtualGpus>[0];
  /** One is well that was not, or the other way round. */
  onHealth(): void;
  /** Some are busier or less busy. */
  onLoads(): void;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class MachineGpus {
  readonly #options: MachineGpusOptions;
  readonly #watch: GpuWatch;
  readonly #loads: GpuLoads;
  #all: readonly MachineGpu[] = [];
  #cudaVersion = '';

  constructor(options: MachineGpusOptions) {
    this.#options = options;
    const gpus = (): readonly MachineGpu[] => this.#all;
    this.#watch = new GpuWatch({ ...options, gpus, onChange: () => options.onHealth() });
    this.#loads = new GpuLoads({ ...options, gpus, onChange: () => options.onLoads() });
  }

  /** They look after them once they were read. */
  get services(): readonly Service[] {
    return [this.#watch, this.#loads];
  }

  /** Which there are. `machineId`: names the virtual ones. */
  async read(machineId: string): Promise<void> {
    const { gpus, cudaVersion } = await readGpus(this.#options.logger);
    this.#all = [...gpus, ...makeVirtualGpus(this.#options.virtual, machineId)];
    this.#cudaVersion = cudaVersion;
  }

  /** Takes these for the machine's until they were read. */
  assume(gpus: readonly MachineGpu[], cudaVersion: string): void {
    this.#all = gpus;
    this.#cudaVersion = cudaVersion;
  }

  /** Without numbers while one of them is not well: the driver may count the others anew. */
  get all(): readonly MachineGpu[] {
    return this.#all.some(({ uuid }) => this.faultOf(uuid) !== '')
      ? this.#all.map((gpu) => ({ ...gpu, index: undefined }))
      : this.#all;
  }

  /** The driver's; empty without one. */
  get cudaVersion(): string {
    return this.#cudaVersion;
  }

  /** Why nothing may run on one; empty: it is well. */
  faultOf(uuid: string): string {
    return this.#watch.faultOf(uuid);
  }

  /** How busy they are, those that their driver tells something of. */
  get loads(): readonly GpuLoad[] {
    return this.#loads.loads;
  }
}
