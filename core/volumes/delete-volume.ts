/** Deletes a network volume. The files stay on the machines for the operator to remove. */
import type { Actor } from '../domain/access.ts';
import { DomainError } from '../domain/errors.ts';
import { volumeNotFound } from '../domain/volume.ts';
import type { VolumeUsers } from '../store/volume-store.ts';
import type { VolumeContext } from './context.ts';

/** NOT_FOUND, or IN_USE: endpoints or pods use it; the text names them. */
export async function deleteVolume({ volumes }: Pick<VolumeContext, 'volumes'>, actor: Actor, id: string): Promise<void> {
  const removal = await volumes.remove(id, actor);
  if (!removal) throw volumeNotFound(id);
  if (!removal.removed) throw inUse(removal.usedBy);
}

function inUse({ endpointIds, podIds }: VolumeUsers): DomainError {
  const users = [...endpointIds.map((id) => `endpoint ${id}`), ...podIds.map((id) => `pod ${id}`)].join(', ');
  return new DomainError('IN_USE', `The network volume is used by ${users}; take it from these endpoints and delete these pods first.`);
}
