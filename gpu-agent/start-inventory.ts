/**
 * Finds out what the machine has, and adopts what the last run of the agent left. If that takes so long that the lease
 * would end, the session is opened with the inventory of the last run; differences are reported once they are known.
 */

import { Loop } from '@slipway/kit/lifecycle/loop';
import type { Service } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import type { Adoption } from './adoption.ts';
import type { GpuMemory } from './gpu-memory/gpu-memory.ts';
import type { HostMachine, ImageHost } from './hosts/image-host.ts';
import type { Inventory } from './inventory/last-inventory.ts';
import { readLastInventory, storeInventory } from './inventory/last-inventory.ts';
import type { MachineGpus } from './inventory/machine-gpus.ts';
import type { ConnectLoop } from './session/connect-loop.ts';
import type { Inbound } from './session/inbound.ts';

/** Dependencies of the start. */
interface StartParts {
  dataDir: string;
  gpus: MachineGpus;
  gpuMemory: Pick<GpuMemory, 'check' | 'fault'>;
  containers: ImageHost;
  adoption: Adoption;
  inbound: Inbound;
  connect: ConnectLoop;
  bridge: Service;
  /** Ends processes of earlier runs. */
  workloads: { sweepProcesses(): Promise<void> };
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Interval at which the lease is recorded on disk for the reaper, in milliseconds. */
const BEAT_PERIOD_MS = 250;

export class StartInventory {
  readonly #parts: StartParts;
  readonly #beating: Loop;

  constructor(parts: StartParts) {
    this.#parts = parts;
    const pass = async (): Promise<void> => parts.adoption.beat();
    this.#beating = new Loop({ name: 'early', periodMs: BEAT_PERIOD_MS, pass, ...parts });
  }

  /** Resolves when workers can be started. `ending`: aborts when the agent stops. */
  async take(machine: Pick<HostMachine, 'id' | 'instance'>, ending: AbortSignal): Promise<void> {
    const { dataDir, gpus, gpuMemory, containers, adoption, inbound, bridge, workloads } = this.#parts;
    const last = await readLastInventory(dataDir);
    const done = new AbortController();
    const reading = gpus.read(machine.id).then(() => gpuMemory.check(gpus.all));
    const opened = this.#openEarly(last, AbortSignal.any([done.signal, ending]));
    try {
      await Promise.race([reading, opened.then((isOpen) => (isOpen ? undefined : reading))]);
      // Containers must find the bridge, and workers the engine.
      await bridge.start();
      containers.setMachine({ ...machine, gpus: gpus.all, left: adoption.left });
      await containers.start();
      await workloads.sweepProcesses();
      await adoption.begin();
    } finally {
      done.abort();
    }
    const isEarly = await opened;
    await this.stop();
    inbound.release();
    void reading.then(() => this.#report(machine, isEarly ? last : undefined));
  }

  /** Stops recording the lease. */
  async stop(): Promise<void> {
    await this.#beating.stop();
  }

  /**
   * Opens the session if the inventory takes too long, unless `done` comes first. Returns true if it opened the
   * session.
   */
  async #openEarly(last: Inventory | undefined, done: AbortSignal): Promise<boolean> {
    const { gpus, containers, adoption, inbound, connect, clock, logger } = this.#parts;
    const { patienceMs } = adoption;
    if (!last || patienceMs === undefined) return false;
    await delay(clock, patienceMs, done);
    if (done.aborted) return false;
    logger.warn('the inventory is slow: the session starts with the inventory of the last run');
    gpus.assume(last.gpus, last.cudaVersion);
    if (!containers.executor) containers.assume(last.containers);
    inbound.hold();
    await this.#beating.start();
    await connect.start();
    return true;
  }

  /** Reports differences from `assumed`, and stores the inventory for the next run. Never rejects. */
  async #report(machine: Pick<HostMachine, 'id' | 'instance'>, assumed: Inventory | undefined): Promise<void> {
    const {
      dataDir,
      gpus: { all: gpus, cudaVersion },
      containers,
      connect,
    } = this.#parts;
    // The session was opened before it was known.
    if (assumed && this.#parts.gpuMemory.fault === '') connect.renew('GPU memory can be moved');
    if (assumed && JSON.stringify(gpus) !== JSON.stringify(assumed.gpus)) {
      containers.setMachine({ ...machine, gpus, left: { workloads: new Set(), waitMs: 0 } });
      connect.renew('the GPUs were read');
    }
    await storeInventory(dataDir, { gpus, cudaVersion, containers: containers.has });
  }
}
