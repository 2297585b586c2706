/** Builds the part that moves GPU memory of workers. */
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import type { OnMove } from './gpu-memory.ts';
import { GpuMemory } from './gpu-memory.ts';
import { HelperPool } from './helper-pool.ts';
import { HelperProcess } from './helper-process.ts';

const GB = 1000 ** 3;

/**
 * Builds it. `settings`: read again for each move. `hostEnv`: variables by which helpers find the driver.
 * `onUnsupported`: called when the machine turns out not to support moves.
 */
export function buildGpuMemory(
  settings: { readonly standbyMemoryGb: number },
  hostEnv: Readonly<Record<string, string>>,
  deps: { onUnsupported(): void; onMove: OnMove; clock: Clock; logger: Logger },
): GpuMemory {
  const helpers = new HelperPool(deps.clock, () => new HelperProcess(hostEnv));
  return new GpuMemory({ ...deps, helpers, budgetBytes: () => settings.standbyMemoryGb * GB });
}
