/** What the use cases of network volumes work with. */
import type { Random } from '../runtime/clock.ts';
import type { VolumeStore } from '../store/volume-store.ts';

export interface VolumeContext {
  volumes: VolumeStore;
  random: Random;
}
