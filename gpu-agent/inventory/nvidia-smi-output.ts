/** Reads what nvidia-smi prints. Pure; tested on recorded answers of several cards. */
import type { MachineGpu } from './machine-gpu.ts';

/** Columns asked for with `--query-gpu`, in any order of the answer. A card's name is in the list. */
export const QUERY_FIELDS = ['uuid', 'memory.total', 'mig.mode.current'] as const;

/** Columns about a card's health, asked for apart: a driver that does not know one of them answers nothing. */
export const HEALTH_FIELDS = ['uuid', 'remapped_rows.failure'] as const;

const MIB_PER_GIB = 1024;

interface Card {
  uuid: string;
  name: string;
  slices: { uuid: string; memoryMib: number; migProfile: string }[];
}

/**
 * The GPUs to offer: each card, or its slices when it has any. `list` is the answer to `-L`. What it leaves out is told by `query`, the
 * answer to `--query-gpu=… --format=csv`, of whole cards and by `summary`, the answer without options, of slices. A card in MIG mode
 * without slices runs nothing.
 */
export function parseGpus(query: string, list: string, summary: string): MachineGpu[] {
  const facts = parseQuery(query);
  return parseList(list, parseSliceMemory(summary)).flatMap(({ uuid, name, slices }): MachineGpu[] => {
    if (slices.length > 0) return slices.map((slice) => ({ ...slice, name, virtual: false }));
    const card = facts.get(uuid);
    return card && !card.mig ? [{ uuid, name, memoryMib: card.memoryMib, migProfile: '', virtual: false }] : [];
  });
}

/** Why nothing may run on GPUs and slices that are known, by their UUIDs. `list` is the answer to `-L`, `health` the one to HEALTH_FIELDS as CSV. */
export function parseFaults(known: readonly string[], list: string, health: string): Map<string, string> {
  const broken = new Set(health.split('\n').map((line) => line.split(',').map((cell) => cell.trim()))
    .flatMap(([uuid = '', failure = '']) => (/^(1|yes)$/i.test(failure) ? [uuid] : [])));
  const cards = parseList(list, new Map());
  const cardOf = new Map(cards.flatMap(({ uuid, slices }) => [uuid, ...slices.map((slice) => slice.uuid)].map((each) => [each, uuid] as const)));
  return new Map(known.flatMap((uuid): [string, string][] => {
    const card = cardOf.get(uuid);
    if (card === undefined) return [[uuid, 'the driver does not list it any more']];
    return broken.has(card) ? [[uuid, 'rows of its memory failed and could not be replaced (remapped_rows.failure)']] : [];
  }));
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

/** Memory of each MIG slice in MiB, by the numbers of its card and of itself, as the table of MIG devices gives them: `0/3`. */
function parseSliceMemory(summary: string): Map<string, number> {
  // Card, GPU instance, compute instance, slice | used / total.
  const rows = summary.matchAll(/^\|\s+(\d+)\s+\d+\s+\d+\s+(\d+)\s+\|\s+\d+MiB\s+\/\s+(\d+)MiB/gm);
  return new Map([...rows].map(([, card, slice, memoryMib]) => [`${card}/${slice}`, Number(memoryMib)]));
}

/**
 * Cards and their MIG slices. Slices like `1c.3g.71gb` share their memory with their neighbours, and each counts with all of it. A profile's
 * own number is a round one above what there is (`1g.18gb` has 16384 MiB); it stands in where the driver prints no table.
 */
function parseList(list: string, sliceMemory: Map<string, number>): Card[] {
  const cards: Card[] = [];
  let number = '';
  for (const line of list.split('\n')) {
    const card = /^GPU (\d+): (.*) \(UUID: (GPU-[^)]+)\)/.exec(line);
    if (card) {
      number = card[1]!;
      cards.push({ uuid: card[3]!, name: card[2]!, slices: [] });
    }
    const slice = /^\s+MIG (\S+)\s+Device\s+(\d+): \(UUID: (MIG-[^)]+)\)/.exec(line);
    if (!slice) continue;
    const migProfile = slice[1]!;
    const rounded = Number(/(\d+)gb/.exec(migProfile)?.[1] ?? 0) * MIB_PER_GIB;
    cards.at(-1)?.slices.push({ uuid: slice[3]!, memoryMib: sliceMemory.get(`${number}/${slice[2]}`) ?? rounded, migProfile });
  }
  return cards;
}
