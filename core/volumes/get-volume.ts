/** Reads a network volume. */
import { volumeNotFound } from '../domain/volume.ts';
import type { NetworkVolume } from '../domain/volume.ts';
import type { VolumeContext } from './context.ts';

/** `only`: the endpoints whose volumes a restricted key may see; empty = all. NOT_FOUND: not in this account, or not one of those. */
export async function getVolume(
  { volumes }: Pick<VolumeContext, 'volumes'>, accountId: string, id: string, only: readonly string[],
): Promise<NetworkVolume> {
  const found = await volumes.get(id, accountId, only);
  if (!found) throw volumeNotFound(id);
  return found;
}
