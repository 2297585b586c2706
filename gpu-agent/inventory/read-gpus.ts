/** Reads this machine's GPUs from the driver. A machine without nvidia-smi has none. */
import type { Logger } from '@slipway/kit/log/logger';
import { askColumns, askColumnsOfAny, askDriver, listAny, summaryOfAny } from './ask-driver.ts';
import type { MachineGpu } from './machine-gpu.ts';
import { parseCudaVersion, parseGpus, parseIndexes, QUERY_FIELDS } from './nvidia-smi-output.ts';

/** GPUs, and the driver's CUDA version. */
interface DriverReading {
  gpus: MachineGpu[];
  cudaVersion: string;
}

const NONE: DriverReading = { gpus: [], cudaVersion: '' };

/** Returns the GPUs that answer. Never rejects. */
export async function readGpus(logger: Logger): Promise<DriverReading> {
  try {
    const query = await askColumns(QUERY_FIELDS);
    const [list, summary] = [await askDriver('-L'), await askDriver()];
    const indexes = parseIndexes(query, list);
    const gpus = parseGpus(query, list, summary).map((gpu) => ({ ...gpu, index: indexes.get(gpu.uuid) }));
    return { gpus, cudaVersion: parseCudaVersion(summary) };
  } catch (error) {
    const { code, killed = false } = error as NodeJS.ErrnoException & { killed?: boolean };
    if (code === 'ENOENT') return NONE;
    // A silent driver is not asked again: each call takes as long.
    const rest = killed ? undefined : await readRest();
    if (rest) logger.warn({ err: error, gpus: rest.gpus.length }, 'a GPU does not answer, going on with the others');
    else logger.warn({ err: error }, 'nvidia-smi did not answer, going on without GPUs');
    return rest ?? NONE;
  }
}

/**
 * Returns the GPUs beside one that is lost; `undefined` if none answers. They have no indexes: programs may number them
 * otherwise.
 */
async function readRest(): Promise<DriverReading | undefined> {
  const [query, list] = [await askColumnsOfAny(QUERY_FIELDS), await listAny()];
  if (query === undefined || list === undefined) return undefined;
  const summary = (await summaryOfAny()) ?? '';
  return { gpus: parseGpus(query, list, summary), cudaVersion: parseCudaVersion(summary) };
}
