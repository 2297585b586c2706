/** What the use cases of pods work with. */
import type { Random } from '../runtime/clock.ts';
import type { PrivateRegistries } from '../runtime/private-registries.ts';
import type { Stores } from '../store/storage.ts';

export interface PodContext extends Pick<Stores, 'pods' | 'podViews' | 'templates' | 'workers' | 'machines'> {
  /** Registries of images that may be at private addresses. */
  privateRegistries: PrivateRegistries;
  random: Random;
  /** What machines should have has changed. */
  onDesired(machineIds: readonly string[]): void;
}
