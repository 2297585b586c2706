/** Reads which processes hold GPU memory, and how much GPUs have free, from nvidia-smi. */
import type { DriverQuery } from '../inventory/ask-driver.ts';

const MIB = 1024 * 1024;

/** GPU memory of one process on one card. */
export interface HeldMemory {
  readonly uuid: string;
  /** The process, by its id on this host. */
  readonly pid: number;
  readonly bytes: number;
}

/** Returns the memory of all processes on all cards. Rejects if the driver does not answer. `ask`: runs nvidia-smi. */
export async function readHeldMemory(ask: DriverQuery): Promise<HeldMemory[]> {
  return parseHeldMemory(await ask('--query-compute-apps=gpu_uuid,pid,used_memory', '--format=csv,noheader,nounits'));
}

/** Returns the free memory of each card in bytes, by UUID. Rejects if the driver does not answer. */
export async function readFreeMemory(ask: DriverQuery): Promise<Map<string, number>> {
  return parseFreeMemory(await ask('--query-gpu=uuid,memory.free', '--format=csv,noheader,nounits'));
}

/** Parses rows of UUID, process id and MiB. A driver that does not know the memory of a process prints a word: 0. */
function parseHeldMemory(text: string): HeldMemory[] {
  return rowsOf(text).flatMap(([uuid = '', pid = '', mib = '']) =>
    /^\d+$/.test(pid) ? [{ uuid, pid: Number(pid), bytes: (Number.parseInt(mib, 10) || 0) * MIB }] : [],
  );
}

/** Parses rows of UUID and MiB. What the driver keeps for itself is neither used nor free. */
function parseFreeMemory(text: string): Map<string, number> {
  return new Map(
    rowsOf(text).flatMap(([uuid = '', free = '']): [string, number][] =>
      /^\d+$/.test(free) ? [[uuid, Number(free) * MIB]] : [],
    ),
  );
}

function rowsOf(text: string): string[][] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => line.split(',').map((cell) => cell.trim()));
}
