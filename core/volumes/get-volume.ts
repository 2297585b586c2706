/** Reads a network volume. */
import { volumeNotFound } from '../domain/volume.ts';
import type { NetworkVolume } from '../domain/volume.ts';
import type { VolumeContext } from './context.ts';

/** NOT_FOUND: not in this account. */
export async function getVolume({ volumes }: Pick<VolumeContext, 'volumes'>, accountId: string, id: string): Promise<NetworkVolume> {
  const found = await volumes.get(id, accountId);
  if (!found) throw volumeNotFound(id);
  return found;
}
