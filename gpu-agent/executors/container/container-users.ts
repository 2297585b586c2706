/**
 * Users of containers on this host. By default root in a container is root of the host as far as files go. Podman can
 * give containers a user namespace: their root and all other users are then ordinary users of the host.
 */
import { lchown, lstat } from 'node:fs/promises';
import type { Engine } from './engine.ts';

/** Number of users, and of groups, of a container. Images use ids below it. */
export const CONTAINER_USERS = 65_536;

/**
 * Returns whether containers of this engine get the mapping; false if they have another user namespace anyway. Throws
 * if they would have none.
 */
export function mapsUsers({ kind, rootless, remapsUsers }: Engine['facts'], base: number): boolean {
  if (base === 0 || rootless || remapsUsers) return false;
  if (kind === 'podman') return true;
  throw new Error(
    'SLIPWAY_CONTAINER_USERS is set, but Docker maps no users for single containers: set userns-remap in its ' +
      'daemon.json, or use Podman',
  );
}

/** Returns the part of Podman's request that maps all users of a container to those of the host from `base` on. */
export function podmanUsers(base: number): object {
  const map = [{ container_id: 0, host_id: base, size: CONTAINER_USERS }];
  return {
    userns: { nsmode: 'private' },
    idmappings: { HostUIDMapping: false, HostGIDMapping: false, UIDMap: map, GIDMap: map },
  };
}

/**
 * Gives a folder to root of containers, unless a user of containers has it. Its content keeps its owners. Only the
 * agent may pass the parent folder.
 */
export async function giveToContainers(folder: string, base: number): Promise<void> {
  const { uid } = await lstat(folder);
  if (uid < base || uid >= base + CONTAINER_USERS) await lchown(folder, base, base);
}

/** Returns the name of an image's user for those who share a folder. Only `root` means root of the host. */
export function userName(user = '', remapsUsers: boolean): string {
  const name = /^(?:root|0)?(?::.*)?$/.test(user) ? 'root' : user;
  return remapsUsers ? `${name} of the engine` : name;
}
