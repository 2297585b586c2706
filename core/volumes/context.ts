/** What the use cases of network volumes work with. */
import type { Random } from '../runtime/clock.ts';
import type { Stores } from '../store/storage.ts';

export interface VolumeContext {
  volumes: Stores['volumes'];
  random: Random;
}
