/** Processors and memory of this machine, for its hello. */
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, freemem, totalmem } from 'node:os';
import type { Machine } from '@slipway/proto/gen/slipway/v1/machine';

const MIB = 1024 * 1024;
const GB = 1000 ** 3;

/** Returns the size of the host. Facts that the system does not give are empty or 0. */
export function hostSize(): Pick<Machine, 'cpuCount' | 'memoryMib' | 'cpuModel' | 'cpuThreadsPerCore'> {
  return {
    cpuCount: availableParallelism(),
    memoryMib: Math.floor(totalmem() / MIB),
    cpuModel: cpus()[0]?.model.trim() ?? '',
    cpuThreadsPerCore: threadsPerCore(cpuInfo()),
  };
}

/** Returns half of the machine's memory, in whole GB. */
export function halfOfMemoryGb(): number {
  return Math.floor(totalmem() / 2 / GB);
}

/**
 * Returns the share of the memory that programs could get now, 0 to 1. On Linux it includes memory that the system
 * would free for them.
 */
export function freeMemoryShare(): number {
  return freemem() / totalmem();
}

/** Returns the threads per core from the text of /proc/cpuinfo; 0 if it does not give them. */
export function threadsPerCore(text: string): number {
  const [threads, cores] = ['siblings', 'cpu cores'].map((name) =>
    Number(new RegExp(`^${name}\\s*:\\s*(\\d+)$`, 'm').exec(text)?.[1] ?? 0),
  );
  return threads && cores ? Math.max(1, Math.round(threads / cores)) : 0;
}

function cpuInfo(): string {
  try {
    return readFileSync('/proc/cpuinfo', 'utf8');
  } catch {
    // Only Linux has it.
    return '';
  }
}
