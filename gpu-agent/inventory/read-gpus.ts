/** Reads this machine's GPUs from the driver. A machine without nvidia-smi has none. */
import type { Logger } from '@slipway/kit/log/logger';
import { askColumns, askDriver } from './ask-driver.ts';
import type { MachineGpu } from './machine-gpu.ts';
import { parseCudaVersion, parseGpus, parseIndexes, QUERY_FIELDS } from './nvidia-smi-output.ts';

/** Returns the GPUs and the driver's CUDA version. Never rejects. */
export async function readGpus(logger: Logger): Promise<{ gpus: MachineGpu[]; cudaVersion: string }> {
  try {
    const query = await askColumns(QUERY_FIELDS);
    const [list, summary] = [await askDriver('-L'), await askDriver()];
    const indexes = parseIndexes(query, list);
    const gpus = parseGpus(query, list, summary).map((gpu) => ({ ...gpu, index: indexes.get(gpu.uuid) }));
    return { gpus, cudaVersion: parseCudaVersion(summary) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      logger.warn({ err: error }, 'nvidia-smi did not answer, going on without GPUs');
    return { gpus: [], cudaVersion: '' };
  }
}
