/** The directories of network volumes on this machine. Processes cannot have mounts of their own: they get the path instead. */
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { HostUser } from '../../core/runtime/host-user.ts';
import type { VolumeMount } from '../../proto/gen/slipway/v1/agent_service.ts';
import { giveFolder } from '../users/given-folder.ts';

/** What an id must look like before it becomes part of a path: nothing that leads elsewhere. */
const PLAIN_ID = /^[a-z0-9]{1,64}$/;

/** Others may pass through, not look around. */
const PASSABLE = 0o711;

/**
 * Makes the directories of volumes in `folder` where they are not there yet, and answers their paths. They are given to `user` if there is one:
 * volumes belong to one account. Fails when an id is not plain or a directory cannot be made or given.
 */
export async function openVolumes(folder: string, mounts: readonly VolumeMount[], user?: HostUser): Promise<string[]> {
  const paths = mounts.map(({ networkVolumeId }) => {
    if (!PLAIN_ID.test(networkVolumeId)) throw new Error(`${JSON.stringify(networkVolumeId)} is not the id of a network volume`);
    return join(folder, networkVolumeId);
  });
  if (paths.length > 0 && await mkdir(folder, { recursive: true }) !== undefined) await chmod(folder, PASSABLE);
  for (const path of paths) await giveFolder(path, user);
  return paths;
}
