/**
 * Network volumes: each setting, and its form on the public surfaces (docs/reference/management.md#network-volumes).
 * The contract documents the meaning of the settings.
 */
import type { NetworkVolume } from '@slipway/proto/gen/slipway/v1/volume_service';
import { VOLUME_SETTINGS } from '@slipway/proto/wire/settings';
import { describe } from '../field.ts';

/**
 * In the order of documents. The options of the command line are in its volumes.ts, because the name is an argument
 * there.
 */
export const VOLUME = describe<Omit<NetworkVolume, 'id' | 'createTime'>>()(VOLUME_SETTINGS, {
  name: {
    kind: { is: 'text', min: 1, max: 191 },
    required: true,
    rest: { name: 'name', in: 'Name, for people.' },
    graphql: { name: 'name', in: '' },
  },
  sizeGb: {
    kind: { is: 'whole' },
    required: true,
    rest: { name: 'size', in: 'Size in GB. It can grow, but never shrink.', out: 'Size in GB.' },
    graphql: { name: 'size', in: 'GB.', change: 'GB; never less than before.', out: 'GB.' },
  },
  dataCenterId: {
    kind: { is: 'text', min: 1, max: 64 },
    required: true,
    fixed: true,
    rest: { name: 'dataCenterId', in: 'Data centre whose machines can mount it. Fixed after creation.' },
    graphql: { name: 'dataCenterId', in: '' },
  },
});
