/** Builds the part that moves GPU memory of workers. */
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import { Broker } from './broker.ts';
import type { OnMove } from './gpu-memory.ts';
import { GpuMemory } from './gpu-memory.ts';
import { HelperPool } from './helper-pool.ts';

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
  const broker = new Broker(hostEnv, deps.clock);
  const helpers = new HelperPool(deps.clock, () => broker.helper());
  return new GpuMemory({ ...deps, broker, helpers, budgetBytes: () => settings.standbyMemoryGb * GB });
}
