/** Disk use of image layers. Layers that images share are stored once. */
import { createHash } from 'node:crypto';
import type { ImageStore, StoredImage } from './image-store.ts';

/** Bytes by layer. The key of a layer covers itself and all layers below it. */
type Layers = ReadonlyMap<string, number>;

export class LayerSizes {
  /** Images never change, so each is read once. */
  #known = new Map<string, Layers>();

  /** Forgets all other images, and reads the layers of new ones. */
  async record(store: ImageStore, images: readonly StoredImage[]): Promise<void> {
    const known = new Map<string, Layers>();
    for (const image of images)
      known.set(image.id, this.#known.get(image.id) ?? layersOf(image, await store.layers(image.id)));
    this.#known = known;
  }

  /** Returns the disk use of images together, in bytes. Images that were not read do not count. */
  sum(images: readonly Pick<StoredImage, 'id'>[]): number {
    const all = new Map(images.flatMap(({ id }) => [...(this.#known.get(id) ?? [])]));
    return all.values().reduce((sum, bytes) => sum + bytes, 0);
  }
}

/**
 * Returns the layers of an image. If the engine does not give the size of each layer, the whole image counts as one
 * layer.
 */
function layersOf(
  { id, sizeBytes }: StoredImage,
  reported: { diffIds: readonly string[]; sizes: readonly number[] } | undefined,
): Layers {
  if (!reported || reported.diffIds.length === 0 || reported.diffIds.length !== reported.sizes.length)
    return new Map([[id, sizeBytes]]);
  const layers = new Map<string, number>();
  let name = '';
  for (const [index, diffId] of reported.diffIds.entries()) {
    name = createHash('sha256').update(`${name} ${diffId}`).digest('base64');
    layers.set(name, reported.sizes[index]!);
  }
  return layers;
}
