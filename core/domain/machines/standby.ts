/**
 * Standby of workers (FlashBoot): with their GPU memory on the GPU, or offloaded to host memory. Durations and bytes of
 * the moves between the two. Pure.
 */

/** Where the GPU memory of a worker on standby is. Empty: it is not on standby. */
export type StandbyState = '' | 'GPU' | 'HOST';

/** Why an offload or restore failed (OffloadFailure of the contract). Empty: none failed. */
type OffloadFailure =
  | ''
  | 'NOT_ENOUGH_HOST_MEMORY'
  | 'TIMED_OUT'
  | 'DRIVER_ERROR'
  | 'UNSUPPORTED'
  | 'NOT_ENOUGH_GPU_MEMORY'
  | 'WORKER_ENDED'
  | 'INTERRUPTED';

/** Whether and how much a machine can offload. For the meaning of each member see GpuOffload of the contract. */
export interface MachineOffload {
  supported: boolean;
  unsupportedReason: string;
  standbyMemoryBytes: number;
}

/** A completed move of a worker's GPU memory. */
export interface StandbyMove {
  bytes: number;
  ms: number;
}

/** GPU memory of a worker: where it is, and its latest moves. */
export interface StandbyMemory {
  standbyReached: StandbyState;
  /** GPU memory that it holds, or held before it was offloaded. 0: unknown. */
  gpuMemoryBytes: number;
  /** `undefined`: none yet. */
  lastOffload: StandbyMove | undefined;
  lastRestore: StandbyMove | undefined;
}

/** Offload of a worker, as its agent reports it. */
export interface OffloadFacts extends StandbyMemory {
  offloadFailure: OffloadFailure;
}

/** Returns a stored move. `ms`: null if there is none yet. */
export function moveOf(bytes: number | null, ms: number | null): StandbyMove | undefined {
  return ms === null ? undefined : { bytes: bytes ?? 0, ms };
}

const GIB = 2 ** 30;
/** Durations before the first measurement, in milliseconds: measured on an H200 with driver 580. */
const OFFLOAD_MS_PER_GIB = 550;
const RESTORE_MS_PER_GIB = 200;
const RESTORE_MS_BASE = 350;

/** Time after which a move without a report is late, in milliseconds: more than twice what agents allow it. */
const MOVE_LIMIT = { fixedMs: 60_000, perGibMs: 5_000 };

/** Returns how long a move of so many bytes may take before core ends the worker, in milliseconds. */
export function moveLimitMs(bytes: number): number {
  return MOVE_LIMIT.fixedMs + (bytes / GIB) * MOVE_LIMIT.perGibMs;
}

/** Reason of a worker whose move was late. */
export const MOVE_LATE_REASON = 'Its agent did not report for too long that its GPU memory was moved.';

/** Returns how long an offload of so many bytes will take, in milliseconds. `measured`: the worker's latest one. */
export function expectedOffloadMs(bytes: number, measured?: StandbyMove): number {
  return scaled(bytes, measured) ?? Math.round((bytes / GIB) * OFFLOAD_MS_PER_GIB);
}

/** Returns the same of a restore. */
export function expectedRestoreMs(bytes: number, measured?: StandbyMove): number {
  return scaled(bytes, measured) ?? Math.round(RESTORE_MS_BASE + (bytes / GIB) * RESTORE_MS_PER_GIB);
}

/** Returns the measured duration in proportion to the bytes. `undefined` if nothing was measured. */
function scaled(bytes: number, measured: StandbyMove | undefined): number | undefined {
  if (!measured) return undefined;
  return measured.bytes > 0 && bytes > 0 ? Math.round((measured.ms * bytes) / measured.bytes) : measured.ms;
}

/** Returns a number of bytes for people, as 10.0 GB. */
export function gigabytesMoved(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`;
}
