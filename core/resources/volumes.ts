/** Creates, reads, changes and deletes network volumes. */

import type { Random } from '@slipway/kit/time/clock';
import type { Actor } from '../domain/accounts/permission.ts';
import type { CreationKey } from '../domain/resources/creation-key.ts';
import type { NetworkVolume, VolumeSettings } from '../domain/resources/volume.ts';
import { checkVolume, checkVolumeGrowth, volumeNotFound } from '../domain/resources/volume.ts';
import { DomainError } from '../domain/settings/errors.ts';
import { snake } from '../domain/settings/fields.ts';
import { checkFixed } from '../domain/settings/fixed-fields.ts';
import type { VolumeUsers } from '../store/resources/volume-store.ts';
import type { Stores } from '../store/storage.ts';

const ID_LENGTH = 10;

/** Dependencies of the use cases of network volumes. */
export interface VolumeContext extends Pick<Stores, 'volumes' | 'creations'> {
  random: Random;
}

/**
 * Creates a network volume. Its directory is made by the agent of the first machine that needs it. Throws
 * INVALID_REQUEST if a field is out of range. RepeatedCreation: `key` was used before.
 */
export async function createVolume(
  { volumes, random }: Pick<VolumeContext, 'volumes' | 'random'>,
  actor: Actor,
  settings: VolumeSettings,
  key?: CreationKey,
): Promise<NetworkVolume> {
  checkVolume(settings);
  return volumes.create(random.id(ID_LENGTH), actor, settings, key);
}

/**
 * Returns a network volume. `only`: endpoints whose volumes a restricted key may see; empty: all. Throws NOT_FOUND if
 * it is not in this account, or not a volume of these endpoints.
 */
export async function getVolume(
  { volumes }: Pick<VolumeContext, 'volumes'>,
  accountId: string,
  id: string,
  only: readonly string[],
): Promise<NetworkVolume> {
  const found = await volumes.get(id, accountId, only);
  if (!found) throw volumeNotFound(id);
  return found;
}

/** A change. Absent fields do not change. */
export type VolumeChange = Partial<VolumeSettings>;

/**
 * Changes the name or the size of a network volume. Throws NOT_FOUND, or INVALID_REQUEST if a field is out of range,
 * the size would shrink, or the data center would change.
 */
export async function updateVolume(
  { volumes }: Pick<VolumeContext, 'volumes'>,
  actor: Actor,
  id: string,
  change: VolumeChange,
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

/**
 * Deletes a network volume. The files stay on the machines for the operator to remove. Throws NOT_FOUND, or IN_USE if
 * endpoints or pods use it; the text names them.
 */
export async function deleteVolume(
  { volumes }: Pick<VolumeContext, 'volumes'>,
  actor: Actor,
  id: string,
): Promise<void> {
  const removal = await volumes.remove(id, actor);
  if (!removal) throw volumeNotFound(id);
  if (!removal.removed) throw inUse(removal.usedBy);
}

function inUse({ endpointIds, podIds }: VolumeUsers): DomainError {
  const users = [...endpointIds.map((id) => `endpoint ${id}`), ...podIds.map((id) => `pod ${id}`)].join(', ');
  return new DomainError(
    'IN_USE',
    `The network volume is used by ${users}; take it from these endpoints and delete these pods first.`,
  );
}
