/** Finds out whether this machine can move GPU memory of workers, and why not. */
import type { DriverQuery } from '../inventory/ask-driver.ts';
import type { MachineGpu } from '../inventory/machine-gpu.ts';
import type { HelperPool } from './helper-pool.ts';

/** First driver that has the calls. */
const DRIVER_MIN = 570;
/** Names of cards of other vendors. */
const OTHER_VENDORS = /^(AMD|Radeon|Intel|Gaudi)\b/i;
/** Time that the driver may take to start in a helper process, in milliseconds: without persistence it is slow. */
const OPEN_MS = 60_000;

/** Returns why GPU memory cannot be moved; empty if it can. Never rejects. `ask`: runs nvidia-smi. */
export async function offloadFault(
  gpus: readonly MachineGpu[],
  helpers: HelperPool,
  ask: DriverQuery,
): Promise<string> {
  if (gpus.length === 0) return 'the machine has no GPU';
  const other = gpus.find(({ name }) => OTHER_VENDORS.test(name));
  if (other) return `only NVIDIA's driver can move GPU memory, and the machine has ${other.name}`;
  if (gpus.some(({ virtual }) => virtual)) return 'virtual GPUs have no memory that could be moved';
  if (gpus.some(({ migProfile }) => migProfile !== '')) return 'the driver does not support it with MIG slices';
  const version = await ask('--query-gpu=driver_version', '--format=csv,noheader').catch(() => '');
  const number = Number.parseInt(version, 10);
  if (!Number.isFinite(number)) return 'nvidia-smi does not name the version of the driver';
  if (number < DRIVER_MIN) return `driver ${version.split('\n')[0]} is older than ${DRIVER_MIN}`;
  return (await helpers.run({ do: 'open' }, { limitMs: OPEN_MS }))?.text ?? '';
}
