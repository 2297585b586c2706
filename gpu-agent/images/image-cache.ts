/**
 * Images that this agent brought to the machine. Records when each was last used, and removes images when they take
 * more disk than they may.
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import type { Clock } from '@slipway/kit/time/clock';
import { parseImageName } from './image-name.ts';
import type { ImageStore, StoredImage } from './image-store.ts';
import { digestOf } from './image-store.ts';
import { LayerSizes } from './layer-sizes.ts';

/** An image under one of its names. */
interface PresentImage {
  /** Name as owners write it: without the prefix that every engine adds by itself. */
  name: string;
  /** Digest at its registry; empty if it came from none. */
  digest: string;
  sizeBytes: number;
}

/** An image that endpoints may need. */
export interface NamedImage {
  name: string;
  /** Empty if it is not resolved. */
  digest: string;
}

export class ImageCache {
  readonly #file: string;
  readonly #budgetBytes: () => number;
  readonly #clock: Clock;
  /**
   * Time of the last use by image id, in milliseconds since 1970. Images of others are not in it, and are never
   * removed.
   */
  #usedAtMs = new Map<string, number>();
  readonly #layers = new LayerSizes();
  #saving: Promise<void> = Promise.resolve();
  #making: Promise<unknown> = Promise.resolve();

  /** `file` keeps the state over restarts. `budgetBytes`: returns the current budget; 0 means as much as there is. */
  constructor(file: string, budgetBytes: () => number, clock: Clock) {
    this.#file = file;
    this.#budgetBytes = budgetBytes;
    this.#clock = clock;
  }

  /** Loads the state of an earlier run of the agent. */
  async open(): Promise<void> {
    const text = await readFile(this.#file, 'utf8').catch(() => '{}');
    this.#usedAtMs = new Map(Object.entries(parse(text)));
  }

  /** Records that a workload is about to run the image. */
  async used({ id }: StoredImage): Promise<void> {
    this.#usedAtMs.set(id, this.#clock.nowMs());
    await this.#save();
  }

  /** Returns all images of the machine, the latest used first. */
  async present(store: ImageStore): Promise<PresentImage[]> {
    const images = await store.list();
    const sorted = images.toSorted(
      (one, other) => (this.#usedAtMs.get(other.id) ?? 0) - (this.#usedAtMs.get(one.id) ?? 0),
    );
    return sorted.flatMap((image) =>
      image.names.flatMap((full) => {
        const name = parseImageName(full);
        return name ? [{ name: asWritten(full), digest: digestOf(image, name), sizeBytes: image.sizeBytes }] : [];
      }),
    );
  }

  /**
   * Removes the least recently used of this agent's images until the rest fits the budget, but none that is in use or
   * `wanted` by name. Returns how many were removed.
   */
  async shrink(store: ImageStore, wanted: readonly NamedImage[]): Promise<number> {
    const budgetBytes = this.#budgetBytes();
    if (budgetBytes === 0) return 0;
    let own = (await store.list()).filter(({ id }) => this.#usedAtMs.has(id));
    await this.#layers.record(store, own);
    return this.#remove(store, wanted, own, async (gone) => {
      own = own.filter((image) => image !== gone);
      return this.#layers.sum(own) <= budgetBytes;
    });
  }

  /**
   * Frees space on a full disk: removes the least recently used of this agent's images, as `shrink` does but whatever
   * the budget, until `hasSpace` resolves to true. Images without a registry stay, because nothing could pull
   * them again. Returns how many were removed. Calls are served one at a time, so that none removes more than needed.
   */
  freeSpace(store: ImageStore, wanted: readonly NamedImage[], hasSpace: () => Promise<boolean>): Promise<number> {
    const made = this.#making.then(async () => {
      const own = (await store.list()).filter((image) => this.#usedAtMs.has(image.id) && canBePulledAgain(image));
      return this.#remove(store, wanted, own, (gone) => (gone === undefined ? Promise.resolve(false) : hasSpace()));
    });
    this.#making = made.catch(() => undefined);
    return made;
  }

  /**
   * Removes images, the least recently used first, until `isEnough`, which is called before the first removal and after
   * each.
   */
  async #remove(
    store: ImageStore,
    wanted: readonly NamedImage[],
    images: readonly StoredImage[],
    isEnough: (gone: StoredImage | undefined) => Promise<boolean>,
  ): Promise<number> {
    if (await isEnough(undefined)) return 0;
    const inUse = await store.inUse();
    let removed = 0;
    for (const image of images.toSorted((one, other) => this.#usedAtMs.get(one.id)! - this.#usedAtMs.get(other.id)!)) {
      if (inUse.has(image.id) || wanted.some((one) => isNamed(image, one)) || !(await store.remove(image.id))) continue;
      this.#usedAtMs.delete(image.id);
      removed += 1;
      if (await isEnough(image)) break;
    }
    if (removed > 0) await this.#save();
    return removed;
  }

  #save(): Promise<void> {
    this.#saving = this.#saving
      .then(async () => {
        await writeFile(`${this.#file}.new`, JSON.stringify(Object.fromEntries(this.#usedAtMs)));
        await rename(`${this.#file}.new`, this.#file);
        // A lost time of use costs a pull at most.
      })
      .catch(() => undefined);
    return this.#saving;
  }
}

function canBePulledAgain({ names, digests }: StoredImage): boolean {
  const isLocal = (name: string): boolean => parseImageName(name)?.registry === 'localhost';
  return digests.some((digest) => !isLocal(digest)) && !names.some(isLocal);
}

/** Returns true if the image has that name, or that digest of it. */
export function isNamed(image: Pick<StoredImage, 'names' | 'digests'>, wanted: NamedImage): boolean {
  const name = parseImageName(wanted.name);
  if (!name) return false;
  const digest = wanted.digest || name.digest;
  if (digest !== '') return image.digests.includes(`${name.repository}@${digest}`);
  const meant = [
    `${name.repository}:${name.tag}`,
    `localhost/${wanted.name.includes('/') ? '' : `${name.repository.split('/').at(-1)!}:${name.tag}`}`,
  ];
  return image.names
    .map((full) => parseImageName(full))
    .some((own) => own && meant.includes(`${own.repository}:${own.tag}`));
}

function asWritten(full: string): string {
  return full.replace(/^docker\.io\/(library\/)?/, '');
}

function parse(text: string): Record<string, number> {
  try {
    return JSON.parse(text) as Record<string, number>;
  } catch {
    return {};
  }
}
