/**
 * GPUs of this machine: those the driver reports when the agent starts, and the configured ones. Also their
 * health and load from then on.
 */

import type { Service } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { GpuLoad } from '@slipway/proto/gen/slipway/v1/machine';
import type { DriverQuery } from './ask-driver.ts';
import { GpuLoads } from './gpu-loads.ts';
import { GpuWatch } from './gpu-watch.ts';
import type { GpuHealth } from './health/classify.ts';
import type { MachineGpu } from './machine-gpu.ts';
import { readGpus } from './read-gpus.ts';
import { makeVirtualGpus } from './virtual-gpus.ts';

/** GPUs that a reading found, and the CUDA version of their driver. */
export interface GpuReading {
  gpus: readonly MachineGpu[];
  cudaVersion: string;
}

/** Dependencies of the GPUs. */
interface MachineGpusOptions {
  /** Virtual GPUs of the configuration. */
  virtual: Parameters<typeof makeVirtualGpus>[0];
  /** Reads the GPUs of a machine whose driver the agent cannot ask. `undefined`: it asks the driver. */
  read?: (() => Promise<GpuReading>) | undefined;
  /** Runs nvidia-smi for what is read again and again. The first reading is made by this process itself. */
  ask: DriverQuery;
  /** Called when the health of a GPU has changed. */
  onHealth(): void;
  /** Called when the load of some GPUs has changed. */
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

  /** Services that watch the GPUs once they were read. */
  get services(): readonly Service[] {
    return this.#options.read ? [] : [this.#watch, this.#loads];
  }

  /** Reads which GPUs there are. `machineId`: names the virtual GPUs. */
  async read(machineId: string): Promise<void> {
    const { read, logger } = this.#options;
    this.set(read ? await read() : await readGpus(logger), machineId);
  }

  /** Sets the GPUs of a later reading, and reports that they changed, or who holds them. */
  renew(reading: GpuReading, machineId: string): void {
    this.set(reading, machineId);
    this.#options.onHealth();
  }

  /** Sets the GPUs that a reading found. */
  set({ gpus, cudaVersion }: GpuReading, machineId: string): void {
    this.#all = [...gpus, ...makeVirtualGpus(this.#options.virtual, machineId)];
    this.#cudaVersion = cudaVersion;
  }

  /** Sets the GPUs that the machine is assumed to have until they were read. */
  assume(gpus: readonly MachineGpu[], cudaVersion: string): void {
    this.#all = gpus;
    this.#cudaVersion = cudaVersion;
  }

  /** All GPUs. Without indexes while one of them is unhealthy: the driver may number the others anew. */
  get all(): readonly MachineGpu[] {
    return this.#all.some(({ uuid }) => this.healthOf(uuid).fault !== '')
      ? this.#all.map((gpu) => ({ ...gpu, index: undefined }))
      : this.#all;
  }

  /** CUDA version of the driver; empty without one. */
  get cudaVersion(): string {
    return this.#cudaVersion;
  }

  /** Returns the health of a GPU. */
  healthOf(uuid: string): GpuHealth {
    return this.#watch.healthOf(uuid);
  }

  /** Loads of the GPUs of which the driver reports something. */
  get loads(): readonly GpuLoad[] {
    return this.#loads.loads;
  }
}
