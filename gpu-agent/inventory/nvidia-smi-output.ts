/** Reads what nvidia-smi prints. Pure; tested on recorded answers of several cards. */
import type { MachineGpu } from './machine-gpu.ts';

/** Columns asked for with `--query-gpu`, in any order of the answer. A card's name is in the list. */
export const QUERY_FIELDS = ['uuid', 'memory.total', 'mig.mode.current'] as const;

const MIB_PER_GIB = 1024;

interface Card {
  uuid: string;
  name: string;
  slices: { uuid: string; memoryMib: number; migProfile: string }[];
}

/**
 * The GPUs to offer: each card, or its slices when it has any. `list` is the answer to `-L`; `query`, the answer to
 * `--query-gpu=… --format=csv`, tells of whole cards what the list leaves out. A card in MIG mode without slices runs nothing.
 */
export function parseGpus(query: string, list: string): MachineGpu[] {
  const facts = parseQuery(query);
  return parseList(list).flatMap(({ uuid, name, slices }): MachineGpu[] => {
    if (slices.length > 0) return slices.map((slice) => ({ ...slice, name, virtual: false }));
    const card = facts.get(uuid);
    return card && !card.mig ? [{ uuid, name, memoryMib: card.memoryMib, migProfile: '', virtual: false }] : [];
  });
}

/** The driver's CUDA version in the header of plain `nvidia-smi`; empty when it is not there. */
export function parseCudaVersion(summary: string): string {
  return /CUDA(?: UMD)? Version\s*:\s*(\d+(?:\.\d+)+)/.exec(summary)?.[1] ?? '';
}

/** Memory and MIG mode of each card, by its UUID. */
function parseQuery(query: string): Map<string, { memoryMib: number; mig: boolean }> {
  const [header, ...rows] = query.split('\n').map((line) => line.split(',').map((cell) => cell.trim()));
  const columns = (header ?? []).map((name) => name.replace(/ \[.*\]$/, ''));
  return new Map(
    rows.map((cells) => {
      const cell = (name: (typeof QUERY_FIELDS)[number]): string => cells[columns.indexOf(name)] ?? '';
      // A card that shares the host's memory answers `[N/A]`.
      const memoryMib = Number.parseInt(cell('memory.total'), 10) || 0;
      return [cell('uuid'), { memoryMib, mig: cell('mig.mode.current') === 'Enabled' }];
    }),
  );
}

/**
 * Cards and their MIG slices. The list names a slice's size only by its profile, a round number above what the driver gives
 * (`1g.10gb` has 9984 MiB, `1g.18gb` 16384 MiB); slices like `1c.3g.71gb` share theirs with their neighbours, and each counts with all of it.
 */
function parseList(list: string): Card[] {
  const cards: Card[] = [];
  for (const line of list.split('\n')) {
    const card = /^GPU \d+: (.*) \(UUID: (GPU-[^)]+)\)/.exec(line);
    if (card) cards.push({ uuid: card[2]!, name: card[1]!, slices: [] });
    const slice = /^\s+MIG (\S+)\s+Device\s+\d+: \(UUID: (MIG-[^)]+)\)/.exec(line);
    if (!slice) continue;
    const migProfile = slice[1]!;
    const gib = Number(/(\d+)gb/.exec(migProfile)?.[1] ?? 0);
    cards.at(-1)?.slices.push({ uuid: slice[2]!, memoryMib: gib * MIB_PER_GIB, migProfile });
  }
  return cards;
}
