/** GPU pools and type names of the public API (docs/reference/management.md#gpu-types), and the rules of a GPU list. */
import { DomainError } from '../settings/errors.ts';
import { checkTexts } from '../settings/fields.ts';

/** Type names of each pool, in the order in which they are tried. */
export const GPU_POOLS: Readonly<Record<string, readonly string[]>> = {
  AMPERE_16: [
    'NVIDIA RTX A4000',
    'NVIDIA RTX A4500',
    'NVIDIA RTX 4000 Ada Generation',
    'NVIDIA RTX 2000 Ada Generation',
  ],
  AMPERE_24: ['NVIDIA L4', 'NVIDIA RTX A5000', 'NVIDIA GeForce RTX 3090'],
  ADA_24: ['NVIDIA GeForce RTX 4090'],
  ADA_32_PRO: ['NVIDIA GeForce RTX 5090'],
  AMPERE_48: ['NVIDIA RTX A6000', 'NVIDIA A40'],
  ADA_48_PRO: ['NVIDIA L40', 'NVIDIA L40S', 'NVIDIA RTX 6000 Ada Generation'],
  AMPERE_80: ['NVIDIA A100 80GB PCIe', 'NVIDIA A100-SXM4-80GB'],
  ADA_80_PRO: ['NVIDIA H100 PCIe', 'NVIDIA H100 80GB HBM3', 'NVIDIA H100 NVL'],
  BLACKWELL_96: [
    'NVIDIA RTX PRO 6000 Blackwell Server Edition',
    'NVIDIA RTX PRO 6000 Blackwell Workstation Edition',
    'NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition',
  ],
  HOPPER_141: ['NVIDIA H200'],
  BLACKWELL_180: ['NVIDIA B200'],
};

/** Type names that the public API knows and that belong to no pool. Two have a double space there, and so also here. */
const TYPES_WITHOUT_POOL: readonly string[] = [
  'NVIDIA GeForce RTX 3080 Ti',
  'NVIDIA GeForce RTX 3080',
  'NVIDIA GeForce RTX 3070',
  'AMD Instinct MI300X OAM',
  'NVIDIA GeForce RTX 4080 SUPER',
  'Tesla V100-PCIE-16GB',
  'Tesla V100-SXM2-32GB',
  'NVIDIA RTX 5000 Ada Generation',
  'NVIDIA GeForce RTX 4070 Ti',
  'NVIDIA RTX 4000 SFF Ada Generation',
  'NVIDIA GeForce RTX 3090 Ti',
  'NVIDIA RTX A2000',
  'NVIDIA GeForce RTX 4080',
  'NVIDIA A30',
  'NVIDIA GeForce RTX 5080',
  'Tesla V100-FHHL-16GB',
  'NVIDIA H200 NVL',
  'Tesla V100-SXM2-16GB',
  'NVIDIA A5000 Ada',
  'Tesla V100-PCIE-32GB',
  'NVIDIA  RTX A4500',
  'NVIDIA  A30',
  'NVIDIA GeForce RTX 3080TI',
  'Tesla T4',
  'NVIDIA RTX A30',
  'NVIDIA B300 SXM6 AC',
  'NVIDIA RTX PRO 4500 Blackwell',
];

/** All accepted type names. */
export const GPU_TYPES: ReadonlySet<string> = new Set([...Object.values(GPU_POOLS).flat(), ...TYPES_WITHOUT_POOL]);

/** GPU types that a list of GPU ids accepts. */
interface GpuPreference {
  /** Type names in order of preference. Empty: any type. */
  order: readonly string[];
  /** Types that are never used. */
  excluded: ReadonlySet<string>;
}

/** Parses a list of pool ids, type names and excluded types. A list with only exclusions accepts any other type. */
export function gpuPreference(gpuIds: readonly string[]): GpuPreference {
  const excluded = new Set(gpuIds.filter((id) => id.startsWith('-')).map((id) => sameCard(id.slice(1))));
  const wanted = gpuIds
    .filter((id) => !id.startsWith('-'))
    .flatMap((id) => (Object.hasOwn(GPU_POOLS, id) ? GPU_POOLS[id]! : [id]));
  return { order: [...new Set(wanted.map(sameCard))].filter((type) => !excluded.has(type)), excluded };
}

/**
 * Returns the name without the double spaces that two names of the public list have: both spellings are the same card.
 */
export function sameCard(type: string): string {
  return type.replace(/ {2,}/g, ' ').trim();
}

/**
 * Returns the type names in a list of GPU ids, excluded ones too, that the public API does not know. A machine may
 * still have such a card.
 */
export function unlistedTypes(gpuIds: readonly string[]): string[] {
  return gpuIds
    .map((id) => (id.startsWith('-') ? id.slice(1) : id))
    .filter((id) => !Object.hasOwn(GPU_POOLS, id) && !GPU_TYPES.has(id))
    .map(sameCard);
}

/**
 * Checks a list of pool ids, type names and excluded types (`-NVIDIA L4`). `reported`: types that machines have and the
 * public API does not know. Throws INVALID_REQUEST with the allowed names if one is unknown, or if no type is left to
 * choose from.
 */
export function checkGpuIds(gpuIds: readonly string[], reported: ReadonlySet<string>): void {
  checkTexts('gpu_ids', gpuIds);
  for (const id of gpuIds) {
    const excluded = id.startsWith('-');
    const type = excluded ? id.slice(1) : id;
    if (GPU_TYPES.has(type) || reported.has(sameCard(type)) || (!excluded && Object.hasOwn(GPU_POOLS, id))) continue;
    const pools = Object.keys(GPU_POOLS).join(', ');
    const types = typeList(reported);
    const allowed = excluded ? `a type name after the '-': ${types}` : `a pool (${pools}) or a type name (${types})`;
    throw new DomainError('INVALID_REQUEST', `gpu_ids: ${JSON.stringify(id)} is not known; allowed is ${allowed}`);
  }
  if (gpuIds.some((id) => !id.startsWith('-')) && gpuPreference(gpuIds).order.length === 0) {
    throw new DomainError(
      'INVALID_REQUEST',
      'gpu_ids: every GPU type is excluded; name at least one pool or type that is not',
    );
  }
}

function typeList(reported: ReadonlySet<string>): string {
  return [...GPU_TYPES, ...reported].join(', ');
}
