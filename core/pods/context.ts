/** What the use cases of pods work with. */
import type { Random } from '../runtime/clock.ts';
import type { Stores } from '../store/storage.ts';

export interface PodContext {
  pods: Stores['pods'];
  podViews: Stores['podViews'];
  templates: Stores['templates'];
  workers: Pick<Stores['workers'], 'ended'>;
  machines: Pick<Stores['machines'], 'reportedTypes'>;
  random: Random;
  /** What machines should have has changed. */
  onDesired(machineIds: readonly string[]): void;
}
