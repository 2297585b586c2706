/**
 * Converts a machine's container engine and images between messages and the store. A malformed message fails with
 * INVALID_REQUEST.
 */

import type { MachineContainers } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { ContainerEngine, MachineImage } from '@slipway/proto/gen/slipway/v1/machine';
import { GpuHandover } from '@slipway/proto/gen/slipway/v1/machine';
import type { GpuHandover as Handover } from '../domain/scaling/placement-machine.ts';
import { checkName, checkText, invalid, shortened } from '../domain/settings/fields.ts';
import type { ContainerFacts, MachineImageFacts } from '../store/machines/image-store.ts';

const LIMITS_MAX = 16;
const REASON_LENGTH_MAX = 1_024;
/** Most images stored per machine. Agents send the latest used first. */
const IMAGES_MAX = 1_000;
/** Form of an image name with its registry and tag. */
const IMAGE_NAME = /^[\x21-\x7e]{1,512}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

const HANDOVERS: Record<GpuHandover, Handover> = {
  [GpuHandover.UNSPECIFIED]: 'NONE',
  [GpuHandover.CDI]: 'CDI',
  [GpuHandover.DEVICE_REQUEST]: 'DEVICE_REQUEST',
  [GpuHandover.VIRTUAL]: 'VIRTUAL',
};
const HANDOVER_MESSAGES: Record<Handover, GpuHandover> = {
  NONE: GpuHandover.UNSPECIFIED,
  CDI: GpuHandover.CDI,
  DEVICE_REQUEST: GpuHandover.DEVICE_REQUEST,
  VIRTUAL: GpuHandover.VIRTUAL,
};

/** Returns the container engine, or the reason why there is none. */
export function engineFromMessage(
  engine: ContainerEngine | undefined,
  noEngineReason: string,
): Pick<ContainerFacts, 'engine' | 'noEngineReason'> {
  checkText('no_engine_reason', noEngineReason);
  if (!engine) return { engine: null, noEngineReason: noEngineReason.slice(0, REASON_LENGTH_MAX) };
  const { name, version, gpuHandover, limits, imageTotalMib, imageFreeMib } = engine;
  checkName('container_engine.name', name);
  checkText('container_engine.version', version);
  if (limits.length > LIMITS_MAX)
    throw invalid(`container_engine.limits has ${limits.length} entries, but may have ${LIMITS_MAX}`);
  for (const limit of limits) checkName('container_engine.limits', limit);
  const space = { imageTotalMib: Math.max(0, imageTotalMib), imageFreeMib: Math.max(0, imageFreeMib) };
  return {
    engine: { name, version: shortened(version, 64), gpuHandover: HANDOVERS[gpuHandover] ?? 'NONE', limits, ...space },
    noEngineReason: '',
  };
}

/** Returns the engine as a message for clients. */
export function engineToMessage(engine: ContainerFacts['engine']): ContainerEngine | undefined {
  return engine ? { ...engine, gpuHandover: HANDOVER_MESSAGES[engine.gpuHandover] } : undefined;
}

/**
 * Returns the images of a machine, the first of each name, at most IMAGES_MAX. Malformed names and digests are
 * dropped.
 */
function imagesFromMessage(images: readonly MachineImage[]): MachineImageFacts[] {
  const byName = new Map<string, MachineImageFacts>();
  for (const { name, digest, sizeBytes } of images) {
    if (byName.size === IMAGES_MAX) break;
    if (!IMAGE_NAME.test(name) || (digest !== '' && !DIGEST.test(digest)) || byName.has(name)) continue;
    byName.set(name, { name, digest, sizeBytes: Math.max(0, sizeBytes) });
  }
  return [...byName.values()];
}

/** Returns the container engine and images of a machine. */
export function containersFromMessage({ engine, noEngineReason, images }: MachineContainers): ContainerFacts {
  return { ...engineFromMessage(engine, noEngineReason), images: imagesFromMessage(images) };
}

/** Throws INVALID_REQUEST if the name is too long for an image, or the digest is malformed. */
export function checkImageClaim({ imageName, digest }: { imageName: string; digest: string }): void {
  if (!IMAGE_NAME.test(imageName)) throw invalid('image_name must have 1 to 512 visible ASCII characters');
  if (!DIGEST.test(digest)) throw invalid('digest must be sha256: and 64 hexadecimal digits');
}
