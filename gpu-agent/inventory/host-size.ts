/** Processors and memory of this machine, as its hello tells them. */
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, freemem, totalmem } from 'node:os';
import type { Machine } from '@slipway/proto/gen/slipway/v1/machine';

const MIB = 1024 * 1024;

/** Reads them. What the system does not tell is empty or 0. */
export function hostSize(): Pick<Machine, 'cpuCount' | 'memoryMib' | 'cpuModel' | 'cpuThreadsPerCore'> {
  return {
    cpuCount: availableParallelism(),
    memoryMib: Math.floor(totalmem() / MIB),
    cpuModel: cpus()[0]?.model.trim() ?? '',
    cpuThreadsPerCore: threadsPerCore(cpuInfo()),
  };
}

/** Share of the memory that programs could have now, 0 to 1: on Linux with what the system would give up for them. */
export function freeMemoryShare(): number {
  return freemem() / totalmem();
}

/** Threads of one core by the text of /proc/cpuinfo; 0: it does not say. */
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
