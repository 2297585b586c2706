/** Parses the output of nvidia-smi. Pure; tested on recorded answers of several cards. */
import type { GpuLoad } from '@slipway/proto/gen/slipway/v1/machine';
import type { MachineGpu } from './machine-gpu.ts';

/** Columns for `--query-gpu`; the answer may have any order. The name of a card is in the list of `-L`. */
export const QUERY_FIELDS = ['uuid', 'memory.total', 'mig.mode.current'] as const;

/** Columns about a card's load. For a value that the driver does not know, it prints a word in brackets. */
export const LOAD_FIELDS = ['uuid', 'utilization.gpu', 'memory.used', 'temperature.gpu', 'power.draw'] as const;

const MIB_PER_GIB = 1024;

interface Card {
  number: number;
  uuid: string;
  name: string;
  /** `indexes`: the indexes of the card and of the slice, as in the table of MIG devices. */
  slices: { uuid: string; indexes: string; migProfile: string }[];
}

/**
 * Returns the GPUs to offer: each card, or its slices if it has any. `list` is the answer to `-L`. The rest comes from
 * `query`, the answer to `--query-gpu=… --format=csv`, for whole cards, and from `summary`, the answer without options,
 * for slices. A card in MIG mode without slices runs nothing.
 */
export function parseGpus(query: string, list: string, summary: string): MachineGpu[] {
  const facts = parseQuery(query);
  const memory = parseSliceMemory(summary);
  return parseList(list).flatMap(({ uuid, name, slices }): MachineGpu[] => {
    if (slices.length > 0) {
      return slices.map(({ indexes, ...slice }) => ({
        ...slice,
        name,
        memoryMib: memory.get(indexes)?.totalMib ?? roundedMib(slice.migProfile),
        virtual: false,
      }));
    }
    const card = facts.get(uuid);
    return card && !card.mig ? [{ uuid, name, memoryMib: card.memoryMib, migProfile: '', virtual: false }] : [];
  });
}

/**
 * Returns the indexes of cards by UUID, as CUDA numbers them by PCI bus. Empty if a card is in MIG mode, because CUDA
 * numbers slices in its own way.
 */
export function parseIndexes(query: string, list: string): Map<string, number> {
  const cards = parseList(list);
  if (cards.some(({ slices }) => slices.length > 0) || [...parseQuery(query).values()].some(({ mig }) => mig))
    return new Map();
  return new Map(cards.map(({ uuid, number }) => [uuid, number]));
}

/** Returns the card of each GPU and slice that the answer to `-L` lists, by UUID. */
export function parseCardOf(list: string): Map<string, string> {
  return new Map(
    parseList(list).flatMap(({ uuid, slices }) =>
      [uuid, ...slices.map((slice) => slice.uuid)].map((each) => [each, uuid] as const),
    ),
  );
}

/**
 * Returns the load of known GPUs and slices of which the driver reports something. `query` is the answer to LOAD_FIELDS
 * as CSV. For slices, `list` is the answer to `-L` and `summary` the answer without options.
 */
export function parseLoads(known: readonly MachineGpu[], query: string, list: string, summary: string): GpuLoad[] {
  const cards = new Map(
    query
      .split('\n')
      .slice(1)
      .map((line) => line.split(',').map((cell) => cell.trim()))
      .map(([uuid = '', ...cells]) => {
        const [utilization, memoryUsedMib, temperatureCelsius, powerWatts] = cells.map(figureOf);
        return [
          uuid,
          {
            utilization: utilization === undefined ? undefined : utilization / 100,
            memoryUsedMib,
            temperatureCelsius,
            powerWatts,
          },
        ];
      }),
  );
  const sliceMemory = parseSliceMemory(summary);
  const slices = new Map(
    parseList(list).flatMap((card) => card.slices.map(({ uuid, indexes }) => [uuid, { cardUuid: card.uuid, indexes }])),
  );
  return known.flatMap(({ uuid }): GpuLoad[] => {
    const whole = cards.get(uuid);
    if (whole) return [{ uuid, ...whole }];
    const slice = slices.get(uuid);
    const card = slice && cards.get(slice.cardUuid);
    return card
      ? [{ ...card, uuid, utilization: undefined, memoryUsedMib: sliceMemory.get(slice.indexes)?.usedMib }]
      : [];
  });
}

/** Returns the number in a cell such as `37 %`, `1024 MiB` or `45`; `undefined` if there is none. */
function figureOf(cell: string): number | undefined {
  const figure = Number.parseFloat(cell);
  return Number.isFinite(figure) ? figure : undefined;
}

/** Returns the driver's CUDA version from the header of plain `nvidia-smi`; empty if it is not there. */
export function parseCudaVersion(summary: string): string {
  return /CUDA(?: UMD)? Version\s*:\s*(\d+(?:\.\d+)+)/.exec(summary)?.[1] ?? '';
}

/** Returns memory and MIG mode of each card, by its UUID. */
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
 * Returns the memory of each MIG slice in MiB, by the indexes of its card and of the slice in the table of MIG devices:
 * `0/3`.
 */
function parseSliceMemory(summary: string): Map<string, { usedMib: number; totalMib: number }> {
  // Card, GPU instance, compute instance, slice | used / total.
  const rows = summary.matchAll(/^\|\s+(\d+)\s+\d+\s+\d+\s+(\d+)\s+\|\s+(\d+)MiB\s+\/\s+(\d+)MiB/gm);
  return new Map(
    [...rows].map(([, card, slice, used, total]) => [
      `${card}/${slice}`,
      { usedMib: Number(used), totalMib: Number(total) },
    ]),
  );
}

/**
 * Returns the memory in a profile's name, in MiB, for drivers that print no table. It is a round number above the
 * actual one (`1g.18gb` has 16384 MiB).
 */
function roundedMib(migProfile: string): number {
  return Number(/(\d+)gb/.exec(migProfile)?.[1] ?? 0) * MIB_PER_GIB;
}

/**
 * Returns cards and their MIG slices. Slices like `1c.3g.71gb` share their memory with their neighbours, and each
 * counts with all of it.
 */
function parseList(list: string): Card[] {
  const cards: Card[] = [];
  let number = '';
  for (const line of list.split('\n')) {
    const card = /^GPU (\d+): (.*) \(UUID: (GPU-[^)]+)\)/.exec(line);
    if (card) {
      number = card[1]!;
      cards.push({ number: Number(number), uuid: card[3]!, name: card[2]!, slices: [] });
    }
    const slice = /^\s+MIG (\S+)\s+Device\s+(\d+): \(UUID: (MIG-[^)]+)\)/.exec(line);
    if (slice) cards.at(-1)?.slices.push({ uuid: slice[3]!, indexes: `${number}/${slice[2]}`, migProfile: slice[1]! });
  }
  return cards;
}
