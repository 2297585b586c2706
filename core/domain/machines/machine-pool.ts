/** Pools of machines: bounds of their fields, and what a machine has from its pool. Pure. */
import { invalid, snake } from '../settings/fields.ts';
import { checkLocations } from './join-token.ts';

/** Most pools of an installation. */
export const POOLS_MAX = 1_000;
const LABELS_MAX = 32;
const NAME_LENGTH_MAX = 64;
const LABEL = /^[A-Za-z][\w./-]{0,31}$/;
const LABEL_VALUE = /^[\w.:/-]{0,63}$/;
/** Start of the location that a machine has by its pool. */
const POOL_PREFIX = 'pool:';

/** Settings of the agents of a pool. An absent one is the agent's own default. */
export interface MachineSettings {
  standbyMax?: number | undefined;
  standbyMemoryGb?: number | undefined;
  modelDiskGb?: number | undefined;
  imageDiskGb?: number | undefined;
}

/** Fields of a pool that can be changed. */
export interface PoolFields extends MachineSettings {
  labels: Record<string, string>;
  locations: string[];
}

export interface MachinePool extends PoolFields {
  name: string;
  /** Number of its machines. */
  machines: number;
}

/** Largest value of each setting (machine.proto, MachineSettings). */
const SETTINGS_MAX: Readonly<Record<keyof MachineSettings, number>> = {
  standbyMax: 10_000,
  standbyMemoryGb: 100_000,
  modelDiskGb: 1_000_000,
  imageDiskGb: 1_000_000,
};

/** Names of the settings. */
export const SETTING_NAMES = Object.keys(SETTINGS_MAX) as (keyof MachineSettings)[];

/** Throws INVALID_REQUEST if the name or a changed field is out of range. */
export function checkPool(name: string, change: Partial<PoolFields>): void {
  if (!/^[^\s,\0]+$/.test(name) || name.length > NAME_LENGTH_MAX || !name.isWellFormed())
    throw invalid(`pool.name must be 1 to ${NAME_LENGTH_MAX} characters without blanks and commas`);
  checkLocations(change.locations ?? []);
  const labels = Object.entries(change.labels ?? {});
  if (labels.length > LABELS_MAX) throw invalid(`labels has more than ${LABELS_MAX} entries`);
  for (const [label, value] of labels) {
    if (!LABEL.test(label))
      throw invalid(
        `labels has the name ${JSON.stringify(label.slice(0, 64))}, but a name has 1 to 32 letters, digits, ` +
          '. _ - and /, and begins with a letter',
      );
    if (!LABEL_VALUE.test(value))
      throw invalid(`the value of label ${label} must be at most 63 letters, digits, . _ - : and /`);
  }
  for (const setting of SETTING_NAMES) {
    const value = change[setting];
    const max = SETTINGS_MAX[setting];
    if (value !== undefined && !(Number.isInteger(value) && value >= 0 && value <= max))
      throw invalid(`settings.${snake(setting)} is ${value}, but must be a whole number from 0 to ${max}`);
  }
}

/** Returns the pool that locations name. Empty: none. Agents with a key, and older ones, name it only so. */
export function poolIn(locations: readonly string[]): string {
  return locations.find((location) => location.startsWith(POOL_PREFIX))?.slice(POOL_PREFIX.length) ?? '';
}

/** Returns the settings of a pool that have a value. */
export function settingsOf(pool: MachineSettings): MachineSettings {
  const set = SETTING_NAMES.filter((name) => pool[name] !== undefined);
  return Object.fromEntries(set.map((name) => [name, pool[name]]));
}

/**
 * Returns where a machine is. `reported`: what its agent says. It has the locations of its pool if neither the agent
 * nor its token names one, and the labels of its pool unless the agent names another value of the same label.
 */
export function locationsIn(
  reported: readonly string[],
  pool: Pick<PoolFields, 'labels' | 'locations'> | undefined,
): string[] {
  if (!pool) return [...reported];
  const hasOwn = reported.some((location) => !location.startsWith(POOL_PREFIX) && !location.includes('='));
  const labels = Object.keys(pool.labels)
    .sort()
    .filter((label) => !reported.some((location) => location.startsWith(`${label}=`)))
    .map((label) => `${label}=${pool.labels[label]}`);
  return [...new Set([...(hasOwn ? [] : pool.locations), ...reported, ...labels])];
}
