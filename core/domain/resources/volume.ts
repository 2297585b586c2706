/** A network volume: its fields and bounds, and which volumes an endpoint may have together. */

import { DomainError } from '../settings/errors.ts';
import type { SettingRule } from '../settings/fields.ts';
import { checkBounds, checkName, checkText, invalid } from '../settings/fields.ts';

/** Settings that the owner chooses. */
export interface VolumeSettings {
  name: string;
  sizeGb: number;
  /** Matches a location of machines. Cannot change after creation. */
  dataCenterId: string;
}

/** A stored volume. */
export interface NetworkVolume extends VolumeSettings {
  id: string;
  accountId: string;
  createdAt: Date;
}

/** The settings with their rules (docs/reference/management.md#network-volumes). */
export const VOLUME_SETTINGS: { readonly [Field in keyof VolumeSettings]: SettingRule<VolumeSettings[Field]> } = {
  name: {},
  sizeGb: { min: 0, max: 4_096 },
  dataCenterId: {},
};
const DATA_CENTER_ID_LENGTH_MAX = 64;

/** Throws INVALID_REQUEST with the field at the first invalid one. */
export function checkVolume(settings: VolumeSettings): void {
  const { name, dataCenterId } = settings;
  checkName('name', name);
  checkBounds(settings, VOLUME_SETTINGS);
  if (dataCenterId.length === 0 || dataCenterId.length > DATA_CENTER_ID_LENGTH_MAX) {
    throw invalid(
      `data_center_id has ${dataCenterId.length} characters, but must have 1 to ${DATA_CENTER_ID_LENGTH_MAX}`,
    );
  }
  checkText('data_center_id', dataCenterId);
}

/** Throws INVALID_REQUEST if the size would shrink: the existing files might not fit. */
export function checkVolumeGrowth(before: VolumeSettings, after: VolumeSettings): void {
  if (after.sizeGb < before.sizeGb) {
    throw invalid(`size_gb is ${after.sizeGb}, but the volume has ${before.sizeGb} already and only ever grows`);
  }
}

/**
 * Throws INVALID_REQUEST unless all `ids` are among `found`, volumes of the account, and no two are in one data center.
 */
export function checkVolumesOfEndpoint(
  ids: readonly string[],
  found: readonly Pick<NetworkVolume, 'id' | 'dataCenterId'>[],
): void {
  const taken = new Map<string, string>();
  for (const id of ids) {
    const volume = found.find((candidate) => candidate.id === id);
    if (!volume)
      throw invalid(
        `network_volume_ids: there is no network volume ${JSON.stringify(id.slice(0, 64))} in this account`,
      );
    const other = taken.get(volume.dataCenterId);
    if (other !== undefined) {
      throw invalid(
        `network_volume_ids: ${other} and ${id} are both in ${volume.dataCenterId}; name at most one volume for ` +
          'each data centre',
      );
    }
    taken.set(volume.dataCenterId, id);
  }
}

/**
 * Returns the error for a volume that is not in the caller's account. The same whether or not it exists in another
 * account.
 */
export function volumeNotFound(id: string): DomainError {
  return new DomainError('NOT_FOUND', `There is no network volume ${JSON.stringify(id.slice(0, 64))} in this account.`);
}
