/** The images that this agent brought to the machine: when each was last used, which make way when they take more disk than they may. */
import { readFile, rename, writeFile } from 'node:fs/promises';
import type { Clock } from '../../core/runtime/clock.ts';
import { parseImageName } from './image-name.ts';
import { digestOf } from './image-store.ts';
import type { ImageStore, StoredImage } from './image-store.ts';

/** An image under one of its names. */
export interface PresentImage {
  /** As owners write it: without what every engine adds by itself. */
  name: string;
  /** As its registry says it; empty: it came from none. */
  digest: string;
  sizeBytes: number;
}

/** An image that somebody may want. */
export interface NamedImage {
  name: string;
  /** Empty: not settled. */
  digest: string;
}

export class ImageKeeper {
  readonly #file: string;
  readonly #budgetBytes: number;
  readonly #clock: Clock;
  /** When each was last used by id, in milliseconds since 1970. Images of others are not in it, and are never removed. */
  #usedAtMs = new Map<string, number>();
  #saving: Promise<void> = Promise.resolve();

  /** `file` remembers over restarts. A budget of 0: as much as there is. */
  constructor(file: string, budgetBytes: number, clock: Clock) {
    this.#file = file;
    this.#budgetBytes = budgetBytes;
    this.#clock = clock;
  }

  /** Remembers what an earlier run of the agent knew. */
  async open(): Promise<void> {
    const text = await readFile(this.#file, 'utf8').catch(() => '{}');
    this.#usedAtMs = new Map(Object.entries(parse(text)));
  }

  /** A unit is about to run it. */
  async used({ id }: StoredImage): Promise<void> {
    this.#usedAtMs.set(id, this.#clock.nowMs());
    await this.#save();
  }

  /** All images of the machine, the latest used first. */
  async present(store: ImageStore): Promise<PresentImage[]> {
    const images = await store.list();
    const sorted = images.toSorted((one, other) => (this.#usedAtMs.get(other.id) ?? 0) - (this.#usedAtMs.get(one.id) ?? 0));
    return sorted.flatMap((image) => image.names.flatMap((full) => {
      const name = parseImageName(full);
      return name ? [{ name: asWritten(full), digest: digestOf(image, name), sizeBytes: image.sizeBytes }] : [];
    }));
  }

  /** Removes the longest unused of its own until they fit, but none that is in use or `wanted` by name. Answers how many. */
  async shrink(store: ImageStore, wanted: readonly NamedImage[]): Promise<number> {
    if (this.#budgetBytes === 0) return 0;
    const inUse = await store.inUse();
    const own = (await store.list()).filter(({ id }) => this.#usedAtMs.has(id));
    let bytes = own.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    let removed = 0;
    for (const image of own.toSorted((one, other) => this.#usedAtMs.get(one.id)! - this.#usedAtMs.get(other.id)!)) {
      if (bytes <= this.#budgetBytes) break;
      if (inUse.has(image.id) || wanted.some((one) => isNamed(image, one)) || !await store.remove(image.id)) continue;
      this.#usedAtMs.delete(image.id);
      bytes -= image.sizeBytes;
      removed += 1;
    }
    if (removed > 0) await this.#save();
    return removed;
  }

  #save(): Promise<void> {
    this.#saving = this.#saving.then(async () => {
      await writeFile(`${this.#file}.new`, JSON.stringify(Object.fromEntries(this.#usedAtMs)));
      await rename(`${this.#file}.new`, this.#file);
      // Forgetting when an image was used costs a pull at most.
    }).catch(() => undefined);
    return this.#saving;
  }
}

/** Whether that name, or that digest of it, means the image. */
export function isNamed(image: Pick<StoredImage, 'names' | 'digests'>, wanted: NamedImage): boolean {
  const name = parseImageName(wanted.name);
  if (!name) return false;
  const digest = wanted.digest || name.digest;
  if (digest !== '') return image.digests.includes(`${name.repository}@${digest}`);
  const meant = [`${name.repository}:${name.tag}`, `localhost/${wanted.name.includes('/') ? '' : `${name.repository.split('/').at(-1)!}:${name.tag}`}`];
  return image.names.map((full) => parseImageName(full)).some((own) => own && meant.includes(`${own.repository}:${own.tag}`));
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
