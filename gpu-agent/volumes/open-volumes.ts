/** The directories of network volumes on this machine. Processes cannot have mounts of their own: they get the path instead. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { VolumeMount } from '../../proto/gen/slipway/v1/agent_service.ts';

/** What an id must look like before it becomes part of a path: nothing that leads elsewhere. */
const PLAIN_ID = /^[a-z0-9]{1,64}$/;

/**
 * Makes the directories of volumes in `folder` where they are not there yet, and answers the first one's path, which is all that core
 * sends for one machine. Undefined: there are no volumes. Fails when an id is not plain or a directory cannot be made.
 */
export async function openVolumes(folder: string, mounts: readonly VolumeMount[]): Promise<string | undefined> {
  const paths = mounts.map(({ networkVolumeId }) => {
    if (!PLAIN_ID.test(networkVolumeId)) throw new Error(`${JSON.stringify(networkVolumeId)} is not the id of a network volume`);
    return join(folder, networkVolumeId);
  });
  for (const path of paths) await mkdir(path, { recursive: true });
  return paths[0];
}
