/** Creates a network volume. */
import type { Actor } from '../domain/access.ts';
import { checkVolume } from '../domain/volume.ts';
import type { NetworkVolume, VolumeSettings } from '../domain/volume.ts';
import type { VolumeContext } from './context.ts';

const ID_LENGTH = 10;

/** INVALID_REQUEST: a field is out of range. Its directory is made by the agent of the first machine that needs it. */
export async function createVolume({ volumes, random }: VolumeContext, actor: Actor, settings: VolumeSettings): Promise<NetworkVolume> {
  checkVolume(settings);
  return volumes.create(random.id(ID_LENGTH), actor, settings);
}
