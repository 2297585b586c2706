/**
 * Facts about GPU types besides their names (docs/reference/management.md#gpu-types): memory, manufacturer and a short
 * name.
 */
import { GPU_TYPES, sameCard } from './gpu-pools.ts';

/** Memory in GB by type name. For a type that is not listed it is unknown. */
const MEMORY_GB: Readonly<Record<number, readonly string[]>> = {
  6: ['NVIDIA RTX A2000'],
  8: ['NVIDIA GeForce RTX 3070'],
  10: ['NVIDIA GeForce RTX 3080'],
  12: ['NVIDIA GeForce RTX 3080 Ti', 'NVIDIA GeForce RTX 3080TI', 'NVIDIA GeForce RTX 4070 Ti'],
  16: [
    'NVIDIA RTX A4000',
    'NVIDIA RTX 2000 Ada Generation',
    'NVIDIA GeForce RTX 4080',
    'NVIDIA GeForce RTX 4080 SUPER',
    'NVIDIA GeForce RTX 5080',
    'Tesla V100-PCIE-16GB',
    'Tesla V100-FHHL-16GB',
    'Tesla V100-SXM2-16GB',
    'Tesla T4',
  ],
  20: ['NVIDIA RTX A4500', 'NVIDIA RTX 4000 Ada Generation', 'NVIDIA RTX 4000 SFF Ada Generation'],
  24: [
    'NVIDIA L4',
    'NVIDIA RTX A5000',
    'NVIDIA GeForce RTX 3090',
    'NVIDIA GeForce RTX 3090 Ti',
    'NVIDIA GeForce RTX 4090',
    'NVIDIA A30',
  ],
  32: [
    'NVIDIA GeForce RTX 5090',
    'NVIDIA RTX 5000 Ada Generation',
    'NVIDIA RTX PRO 4500 Blackwell',
    'Tesla V100-SXM2-32GB',
    'Tesla V100-PCIE-32GB',
  ],
  48: ['NVIDIA RTX A6000', 'NVIDIA A40', 'NVIDIA L40', 'NVIDIA L40S', 'NVIDIA RTX 6000 Ada Generation'],
  80: ['NVIDIA A100 80GB PCIe', 'NVIDIA A100-SXM4-80GB', 'NVIDIA H100 PCIe', 'NVIDIA H100 80GB HBM3'],
  94: ['NVIDIA H100 NVL'],
  96: [
    'NVIDIA RTX PRO 6000 Blackwell Server Edition',
    'NVIDIA RTX PRO 6000 Blackwell Workstation Edition',
    'NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition',
  ],
  141: ['NVIDIA H200'],
  143: ['NVIDIA H200 NVL'],
  180: ['NVIDIA B200'],
  192: ['AMD Instinct MI300X OAM'],
  288: ['NVIDIA B300 SXM6 AC'],
};

const memoryOf = new Map(
  Object.entries(MEMORY_GB).flatMap(([gb, types]) => types.map((type) => [type, Number(gb)] as const)),
);

/** Cards whose short name cannot be derived from the long one. */
const SHORT_NAMES: Readonly<Record<string, string>> = {
  'NVIDIA A100 80GB PCIe': 'A100 PCIe',
  'NVIDIA A100-SXM4-80GB': 'A100 SXM',
  'NVIDIA H100 80GB HBM3': 'H100 SXM',
  'NVIDIA H200': 'H200 SXM',
  'NVIDIA B300 SXM6 AC': 'B300',
  'NVIDIA GeForce RTX 3080TI': 'RTX 3080 Ti',
  'AMD Instinct MI300X OAM': 'MI300X',
};

/** Returns the GPU type of a card. A MIG slice is a separate type: `NVIDIA A30 MIG 1g.6gb`. */
export function gpuTypeOf(gpu: { name: string; migProfile: string }): string {
  const card = sameCard(gpu.name);
  return gpu.migProfile === '' ? card : `${card} MIG ${gpu.migProfile}`;
}

/** All known types, each once. Of two spellings of one card, the one without double spaces. */
export const KNOWN_GPU_TYPES: ReadonlySet<string> = new Set([...GPU_TYPES].map(sameCard));

/**
 * Smallest share of its nominal memory that a whole card reports. It keeps a little for error correction and for
 * itself.
 */
const REPORTED_SHARE_MIN = 0.85;

/**
 * Returns the memory in GB of a whole card that reports much less than its type has, as a partitioned card does.
 * `undefined` if it reports what it should, or if the type's memory is unknown.
 */
export function shortMemoryGb({
  name,
  migProfile,
  memoryMib,
}: {
  name: string;
  migProfile: string;
  memoryMib: number;
}): number | undefined {
  const gb = memoryMib / 1_024;
  return migProfile === '' && memoryMib > 0 && gb < gpuMemoryGb(name) * REPORTED_SHARE_MIN ? Math.round(gb) : undefined;
}

/** Returns the memory of a GPU type in GB. 0 if unknown. */
export function gpuMemoryGb(type: string): number {
  return memoryOf.get(sameCard(type)) ?? 0;
}

/** Returns the manufacturer of a GPU type. */
export function gpuManufacturer(type: string): 'NVIDIA' | 'AMD' {
  return /^(AMD|Radeon)\b/i.test(type) ? 'AMD' : 'NVIDIA';
}

/** Returns a short name for people: `RTX 4090`. */
export function gpuDisplayName(type: string): string {
  const card = sameCard(type);
  return (
    SHORT_NAMES[card] ??
    card
      .replace(/^(NVIDIA|AMD|Tesla) /, '')
      .replace(/^(GeForce|Instinct) /, '')
      .replace(/ Generation\b/, '')
  );
}
