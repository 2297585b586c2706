/**
 * Settings that the machine's pool can set. An option of this agent precedes; without either the default counts. What
 * the pool sets is kept on disk: a restart while core is away must not remove models or images that the pool allows.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EnvReader } from '@slipway/kit/host/env';
import type { Logger } from '@slipway/kit/log/logger';
import type { MachineSettings } from '@slipway/proto/gen/slipway/v1/machine';
import { halfOfMemoryGb } from '../inventory/host-size.ts';

/** Part of config.ts. The disk of models is in models/model-settings.ts. */
export interface MachineOptions {
  /** Most workers in standby (FlashBoot). SLIPWAY_STANDBY_MAX, default 4. */
  standbyMax: number;
  /**
   * Host memory for GPU memory of workers in standby, in GB, 0 to 100,000. SLIPWAY_STANDBY_MEMORY_GB, default: half of
   * the machine's memory. 0: it is never moved.
   */
  standbyMemoryGb: number;
  /**
   * Disk budget of images that this agent pulled, in GB. The least recently used are removed first.
   * SLIPWAY_IMAGE_DISK_GB, default 0: as much as there is.
   */
  imageDiskGb: number;
  /** Settings that were given to this agent: its pool does not change them. */
  givenSettings: ReadonlySet<keyof MachineSettings>;
}

const VARIABLES: readonly [variable: string, setting: keyof MachineSettings][] = [
  ['SLIPWAY_STANDBY_MAX', 'standbyMax'],
  ['SLIPWAY_STANDBY_MEMORY_GB', 'standbyMemoryGb'],
  ['SLIPWAY_MODEL_DISK_GB', 'modelDiskGb'],
  ['SLIPWAY_IMAGE_DISK_GB', 'imageDiskGb'],
];
/** Settings that a node of Kubernetes cannot have. */
const NOT_OF_NODES: readonly (keyof MachineSettings)[] = ['standbyMax', 'standbyMemoryGb'];

/** Reads the options. `isNode`: the machine is a node of Kubernetes. */
export function readMachineOptions(reader: EnvReader, isNode: boolean): MachineOptions {
  const given = VARIABLES.filter(([variable]) => reader.text(variable, '') !== '').map(([, setting]) => setting);
  return {
    standbyMax: reader.integer('SLIPWAY_STANDBY_MAX', isNode ? 0 : 4, 0, 10_000),
    standbyMemoryGb: reader.integer('SLIPWAY_STANDBY_MEMORY_GB', isNode ? 0 : halfOfMemoryGb(), 0, 100_000),
    imageDiskGb: reader.integer('SLIPWAY_IMAGE_DISK_GB', 0, 0, 1_000_000),
    givenSettings: new Set([...given, ...(isNode ? NOT_OF_NODES : [])]),
  };
}

interface PoolSettingsOptions extends MachineOptions {
  dataDir: string;
  /** Disk that models may take, in GB. `undefined`: half of it. */
  modelDiskGb: number | undefined;
  logger: Logger;
  /** Called when the pool sets something else than before. */
  onChanged(): void;
}

export class PoolSettings {
  readonly #options: PoolSettingsOptions;
  /** Settings of the pool. `undefined`: not read from disk yet. */
  #ofPool: MachineSettings | undefined;

  constructor(options: PoolSettingsOptions) {
    this.#options = options;
  }

  get standbyMax(): number {
    return this.#fromPool('standbyMax') ?? this.#options.standbyMax;
  }

  get standbyMemoryGb(): number {
    return this.#fromPool('standbyMemoryGb') ?? this.#options.standbyMemoryGb;
  }

  get imageDiskGb(): number {
    return this.#fromPool('imageDiskGb') ?? this.#options.imageDiskGb;
  }

  /** `undefined`: half of the disk. */
  get modelDiskGb(): number | undefined {
    return this.#fromPool('modelDiskGb') ?? this.#options.modelDiskGb;
  }

  /** Uses what the pool sets from now on. `undefined`: core does not know pools; as before. */
  apply(settings: MachineSettings | undefined): void {
    if (!settings) return;
    const text = textOf(settings);
    if (text === textOf(this.#known)) return;
    const { logger, onChanged } = this.#options;
    this.#ofPool = settings;
    try {
      writeFileSync(`${this.#file}.new`, text, { mode: 0o600, flush: true });
      renameSync(`${this.#file}.new`, this.#file);
    } catch (error) {
      logger.warn({ err: error }, 'the settings of the pool were not kept on disk');
    }
    logger.info({ settings }, 'the pool of this machine sets');
    onChanged();
  }

  #fromPool(setting: keyof MachineSettings): number | undefined {
    return this.#options.givenSettings.has(setting) ? undefined : this.#known[setting];
  }

  get #known(): MachineSettings {
    return (this.#ofPool ??= this.#read());
  }

  #read(): MachineSettings {
    try {
      const read = Object.entries((JSON.parse(readFileSync(this.#file, 'utf8')) ?? {}) as object);
      // A damaged file must not keep the agent from its start, nor core from its hello.
      return Object.fromEntries(read.filter(([, value]) => Number.isSafeInteger(value) && value >= 0));
    } catch {
      return {};
    }
  }

  get #file(): string {
    return join(this.#options.dataDir, 'pool-settings.json');
  }
}

/** Returns the settings as JSON, the same for the same settings. */
function textOf(settings: MachineSettings): string {
  const { standbyMax, standbyMemoryGb, modelDiskGb, imageDiskGb } = settings;
  return JSON.stringify({ standbyMax, standbyMemoryGb, modelDiskGb, imageDiskGb });
}
