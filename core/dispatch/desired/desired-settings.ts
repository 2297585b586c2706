/**
 * Reads the settings that machines have from their pools. They are read periodically, because a change of a pool is
 * not urgent.
 */
import type { Clock } from '@slipway/kit/time/clock';
import type { MachineSettings } from '../../domain/machines/machine-pool.ts';
import type { Stores } from '../../store/storage.ts';
import type { LiveSession } from '../live-session.ts';

/** Period of the reads in milliseconds. */
const PERIOD_MS = 10_000;
const NONE: MachineSettings = {};

interface DesiredSettingsOptions {
  pools: Pick<Stores['pools'], 'settingsOf'>;
  /** Returns all sessions of this replica. */
  sessions(): readonly LiveSession[];
  clock: Clock;
}

export class DesiredSettings {
  readonly #options: DesiredSettingsOptions;
  #readAtMs = -Infinity;
  /** By session: a machine may join again with another pool. */
  #known = new Map<LiveSession, MachineSettings>();

  constructor(options: DesiredSettingsOptions) {
    this.#options = options;
  }

  /**
   * Returns the settings of the machines of these sessions. A session whose hello is still being handled is left out:
   * its machine may yet be in another pool.
   */
  async of(asked: readonly LiveSession[]): Promise<ReadonlyMap<LiveSession, MachineSettings>> {
    const { pools, sessions, clock } = this.#options;
    const isNew = asked.some((session) => session.isOpen && !this.#known.has(session));
    if (!isNew && clock.monotonicMs() - this.#readAtMs < PERIOD_MS) return this.#known;
    const atMs = clock.monotonicMs();
    const all = [...new Set([...sessions(), ...asked])].filter(({ isOpen }) => isOpen);
    const found = await pools.settingsOf(all.map(({ machineId }) => machineId));
    this.#known = new Map(all.map((session) => [session, found.get(session.machineId) ?? NONE]));
    this.#readAtMs = atMs;
    return this.#known;
  }
}
