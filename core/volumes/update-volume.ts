/** Changes the name or the size of a network volume. */
import type { Actor } from '../domain/access.ts';
import { snake } from '../domain/fields.ts';
import { checkFixed } from '../domain/fixed-fields.ts';
import { checkVolume, checkVolumeGrowth, volumeNotFound } from '../domain/volume.ts';
import type { NetworkVolume, VolumeSettings } from '../domain/volume.ts';
import type { VolumeContext } from './context.ts';

/** What to change. Absent fields stay as they are. */
export type VolumeChange = Partial<VolumeSettings>;

/** NOT_FOUND, or INVALID_REQUEST: out of range, the size would shrink, or the data centre would change. */
export async function updateVolume(
  { volumes }: Pick<VolumeContext, 'volumes'>, actor: Actor, id: string, change: VolumeChange,
): Promise<NetworkVolume> {
  const updated = await volumes.update(id, actor, Object.keys(change).map(snake), (current) => {
    checkFixed<VolumeSettings>(current, change, ['dataCenterId']);
    const settings = { ...current, ...change };
    checkVolume(settings);
    checkVolumeGrowth(current, settings);
    return settings;
  });
  if (!updated) throw volumeNotFound(id);
  return updated;
}
