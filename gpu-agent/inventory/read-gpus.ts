/** Asks the driver for this machine's GPUs. A machine without nvidia-smi has none. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Logger } from '../../core/runtime/logger.ts';
import type { MachineGpu } from './machine-gpu.ts';
import { QUERY_FIELDS, parseCudaVersion, parseGpus } from './nvidia-smi-output.ts';

const run = promisify(execFile);
/** A driver that does not answer within this time is taken as absent, in milliseconds. */
const TIMEOUT_MS = 20_000;

/** GPUs and the driver's CUDA version. Never rejects. */
export async function readGpus(logger: Logger): Promise<{ gpus: MachineGpu[]; cudaVersion: string }> {
  try {
    const ask = async (...args: string[]): Promise<string> => (await run('nvidia-smi', args, { timeout: TIMEOUT_MS })).stdout;
    const query = await ask(`--query-gpu=${QUERY_FIELDS.join(',')}`, '--format=csv');
    const [list, summary] = [await ask('-L'), await ask()];
    return { gpus: parseGpus(query, list, summary), cudaVersion: parseCudaVersion(summary) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') logger.warn({ err: error }, 'nvidia-smi did not answer, going on without GPUs');
    return { gpus: [], cudaVersion: '' };
  }
}
