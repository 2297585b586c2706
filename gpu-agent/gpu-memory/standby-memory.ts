/** The budget of host memory for offloaded workers: how much each of them holds of it. */
import { MoveError } from './move-error.ts';

const GIB = 1024 ** 3;
/** Share of the machine's memory that must be left when a worker is offloaded (workers/standby-capacity.ts). */
const LEFT_SHARE_MIN = 0.1;

/** Memory of the machine now, in bytes. */
interface HostMemory {
  total: number;
  available: number;
}

export class StandbyMemory {
  readonly #budgetBytes: () => number;
  readonly #hostMemory: () => HostMemory;
  readonly #held = new Map<string, number>();

  /** `budgetBytes`: returns the current budget. */
  constructor(budgetBytes: () => number, hostMemory: () => HostMemory) {
    this.#budgetBytes = budgetBytes;
    this.#hostMemory = hostMemory;
  }

  get budgetBytes(): number {
    return this.#budgetBytes();
  }

  get usedBytes(): number {
    return [...this.#held.values()].reduce((sum, bytes) => sum + bytes, 0);
  }

  /** Reserves memory for a worker, before it is moved. Throws MoveError if there is too little. */
  take(workerId: string, bytes: number): void {
    const left = this.budgetBytes - this.usedBytes;
    if (bytes > left) {
      const text = `it holds ${inGib(bytes)} of GPU memory, and ${inGib(left)} of --standby-memory are left`;
      throw new MoveError('NOT_ENOUGH_HOST_MEMORY', text);
    }
    const { total, available } = this.#hostMemory();
    if (bytes > 0 && available - bytes < total * LEFT_SHARE_MIN) {
      const text = `it holds ${inGib(bytes)} of GPU memory, and the machine has ${inGib(available)} of memory left`;
      throw new MoveError('NOT_ENOUGH_HOST_MEMORY', text);
    }
    this.#held.set(workerId, bytes);
  }

  /** Records what a worker of the previous run holds. */
  adopt(workerId: string, bytes: number): void {
    this.#held.set(workerId, bytes);
  }

  /** Releases what a worker holds, once it is restored or has ended. Idempotent. */
  release(workerId: string): void {
    this.#held.delete(workerId);
  }
}

/** Returns bytes as text, for instance `9.8 GiB`. */
export function inGib(bytes: number): string {
  return `${(Math.max(0, bytes) / GIB).toFixed(1)} GiB`;
}
