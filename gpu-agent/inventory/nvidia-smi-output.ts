/** Reads what nvidia-smi prints. Pure; tested on samples of what several cards answer. */
import type { MachineGpu } from './machine-gpu.ts';

/** Columns asked for with `--query-gpu`, in any order of the answer. */
export const QUERY_FIELDS = ['uuid', 'name', 'memory.total', 'mig.mode.current'] as const;

const MIB_PER_GIB = 1024;

interface Card {
  uuid: string;
  name: string;
  memoryMib: number;
  /** Whole cards in MIG mode run nothing; only their slices do. */
  mig: boolean;
}

/**
 * The GPUs to offer: each card, or its slices when it is in MIG mode. `query` is the answer to `--query-gpu=… --format=csv`, `list` the
 * answer to `-L`.
 */
export function parseGpus(query: string, list: string): MachineGpu[] {
  const slices = parseSlices(list);
  return parseCards(query).flatMap((card): MachineGpu[] => {
    if (card.mig) return (slices.get(card.uuid) ?? []).map((slice) => ({ ...slice, name: card.name, virtual: false }));
    return [{ uuid: card.uuid, name: card.name, memoryMib: card.memoryMib, migProfile: '', virtual: false }];
  });
}

/** The driver's CUDA version in the header of plain `nvidia-smi`; empty when it is not there. */
export function parseCudaVersion(summary: string): string {
  return /CUDA(?: UMD)? Version\s*:\s*(\d+(?:\.\d+)+)/.exec(summary)?.[1] ?? '';
}

function parseCards(query: string): Card[] {
  const [header, ...rows] = query.split('\n').map((line) => line.trim()).filter((line) => line !== '');
  const columns = (header ?? '').split(',').map((name) => name.trim().replace(/ \[.*\]$/, ''));
  return rows.flatMap((row): Card[] => {
    const cells = row.split(',').map((cell) => cell.trim());
    const cell = (name: string): string => cells[columns.indexOf(name)] ?? '';
    if (!cell('uuid').startsWith('GPU-')) return [];
    // A card that shares the host's memory answers `[N/A]`.
    const memoryMib = Number.parseInt(cell('memory.total'), 10) || 0;
    return [{ uuid: cell('uuid'), name: cell('name'), memoryMib, mig: cell('mig.mode.current') === 'Enabled' }];
  });
}

/** MIG slices by the UUID of their card. The list names a slice's size only by its profile. */
function parseSlices(list: string): Map<string, { uuid: string; memoryMib: number; migProfile: string }[]> {
  const slices = new Map<string, { uuid: string; memoryMib: number; migProfile: string }[]>();
  let card: string | undefined;
  for (const line of list.split('\n')) {
    const owner = /^GPU \d+: .*\(UUID: (GPU-[^)]+)\)/.exec(line);
    if (owner) card = owner[1];
    const slice = /^\s+MIG (\S+)\s+Device\s+\d+: \(UUID: (MIG-[^)]+)\)/.exec(line);
    if (!slice || card === undefined) continue;
    const migProfile = slice[1]!;
    const gib = Number(/(\d+)gb/.exec(migProfile)?.[1] ?? 0);
    slices.set(card, [...(slices.get(card) ?? []), { uuid: slice[2]!, memoryMib: gib * MIB_PER_GIB, migProfile }]);
  }
  return slices;
}
