/** What layers of images take on the disk: those that images share lie there once. */
import { createHash } from 'node:crypto';
import type { ImageStore, StoredImage } from './image-store.ts';

/** Bytes by layer; a layer is named by itself and all below it. */
type Layers = ReadonlyMap<string, number>;

export class LayerSizes {
  /** Images never change, so each is asked for once. */
  #known = new Map<string, Layers>();

  /** Forgets all but these images, and learns the layers of those that are new. */
  async learn(store: ImageStore, images: readonly StoredImage[]): Promise<void> {
    const known = new Map<string, Layers>();
    for (const image of images)
      known.set(image.id, this.#known.get(image.id) ?? layersOf(image, await store.layers(image.id)));
    this.#known = known;
  }

  /** Returns what images take together, in bytes. Those that were not learned count for nothing. */
  sum(images: readonly Pick<StoredImage, 'id'>[]): number {
    const all = new Map(images.flatMap(({ id }) => [...(this.#known.get(id) ?? [])]));
    return all.values().reduce((sum, bytes) => sum + bytes, 0);
  }
}

/** Where an engine does not say what each layer takes, the whole image counts as a layer of its own. */
function layersOf(
  { id, sizeBytes }: StoredImage,
  told: { diffIds: readonly string[]; sizes: readonly number[] } | undefined,
): Layers {
  if (!told || told.diffIds.length === 0 || told.diffIds.length !== told.sizes.length)
    return new Map([[id, sizeBytes]]);
  const layers = new Map<string, number>();
  let name = '';
  for (const [index, diffId] of told.diffIds.entries()) {
    name = createHash('sha256').update(`${name} ${diffId}`).digest('base64');
    layers.set(name, told.sizes[index]!);
  }
  return layers;
}
