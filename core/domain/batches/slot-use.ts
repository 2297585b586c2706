/** Decides how many slots of an endpoint batches may use, so that normal requests find a free one. Pure. */

/** Use of the slots of an endpoint, and its normal requests of the last minute. */
export interface SlotUse {
  /** Slots of workers that are ready. */
  slots: number;
  /** Jobs with normal priority that wait or run. */
  normal: number;
  /** Jobs with low priority that wait or run. */
  low: number;
  /** Jobs with normal priority that came within the last minute. */
  arrived: number;
  /** Mean duration of its latest executions, in milliseconds. 0: none is known. */
  executionMs: number;
}

/** Time in which `arrived` is counted, in seconds. */
export const ARRIVALS_SECONDS = 60;
/** Slots that are kept free, as a multiple of the slots that normal requests use on average. They come in bursts. */
const BURST = 1.5;

/** Returns how many further jobs of batches may be submitted to an endpoint now. */
export function spareSlots(use: SlotUse): number {
  return Math.max(allowedJobs(use) - use.low, 0);
}

/** Returns how many jobs with low priority are too many at an endpoint now: waiting ones are withdrawn. */
export function surplusJobs(use: SlotUse): number {
  return Math.max(use.low - allowedJobs(use), 0);
}

/**
 * Returns how many jobs of batches may wait or run at an endpoint. Infinity if no normal request came lately: batches
 * may use all slots. Where normal requests may need every slot, a batch gets one while none of them waits or runs, so
 * that it advances. A normal request then waits for one job of a batch at most.
 */
function allowedJobs({ slots, normal, arrived, executionMs }: SlotUse): number {
  if (arrived + normal === 0) return Infinity;
  const busy = (arrived * executionMs) / (ARRIVALS_SECONDS * 1_000);
  const kept = Math.max(normal + 1, Math.ceil(busy * BURST));
  return Math.max(slots - kept, normal === 0 ? 1 : 0);
}
