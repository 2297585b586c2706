/** Dependencies of the use cases of pods. */

import type { Random } from '@slipway/kit/time/clock';
import type { MayAsk } from '../domain/resources/image-name.ts';
import type { Stores } from '../store/storage.ts';

export interface PodContext
  extends Pick<Stores, 'creations' | 'pods' | 'podViews' | 'templates' | 'workers' | 'machines'> {
  /** Registries whose images are allowed. */
  mayAsk: MayAsk;
  random: Random;
  /** Called when the desired state of machines has changed. */
  onDesired(machineIds: readonly string[]): void;
}
