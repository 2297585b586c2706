/** Volumes of templates and pods in REST v2. */

import type { Static } from 'typebox';
import { Type } from 'typebox';
import { TEMPLATE } from '../../resources/templates/template-table.ts';
import { against } from '../rejections.ts';
import { closed, named } from '../schema-parts.ts';

/** Smallest volume that a body may ask for, in GB. */
const SIZE_GB_MIN = 10;
const PATH_LENGTH_MAX = 4_096;
const ID_LENGTH_MAX = 191;

const path = Type.String({ minLength: 1, maxLength: PATH_LENGTH_MAX, description: 'Path at which it is mounted.' });

/** A volume of a single pod. */
export const persistentMount = named(
  'PersistentMount',
  closed(
    {
      size: Type.Integer({ minimum: SIZE_GB_MIN, maximum: TEMPLATE.volumeGb.rule.max, description: 'Size in GB.' }),
      path,
    },
    { description: "The pod's own volume, which is deleted with the pod." },
  ),
);

/** Volumes of a pod: its own, or a network volume. */
export const mounts = named(
  'Mounts',
  closed(
    {
      persistent: Type.Optional(persistentMount),
      network: Type.Optional(
        Type.Array(
          named(
            'NetworkMount',
            closed({
              volumeId: Type.String({ minLength: 1, maxLength: ID_LENGTH_MAX, description: 'Network volume.' }),
              path,
            }),
          ),
          { maxItems: 1, description: "A network volume, instead of the pod's own volume." },
        ),
      ),
    },
    { description: 'All volumes; a change replaces all of them. Empty: none.' },
  ),
);
type Mounts = Static<typeof mounts>;

/** Returns the fields that mounts set. Throws 400 if both kinds are given. */
export function mountFields({ persistent, network = [] }: Mounts): {
  volumeGb: number;
  volumeMountPath: string | undefined;
  networkVolumeId: string | undefined;
} {
  const [shared] = network;
  if (persistent && shared) throw against('mounts: give persistent or network, not both.');
  return {
    volumeGb: persistent?.size ?? 0,
    volumeMountPath: persistent?.path ?? shared?.path,
    networkVolumeId: shared?.volumeId,
  };
}

/** Returns the mounts for a response. */
export function presentMounts({
  volumeGb,
  volumeMountPath,
  networkVolumeId = '',
}: {
  volumeGb: number;
  volumeMountPath: string;
  networkVolumeId?: string;
}): object {
  if (networkVolumeId !== '') return { network: [{ volumeId: networkVolumeId, path: volumeMountPath }] };
  return volumeGb === 0 ? {} : { persistent: { size: volumeGb, path: volumeMountPath } };
}
