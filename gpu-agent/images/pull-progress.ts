/**
 * Progress of a pull as text: `pulling x: 43 % of 2.8 GB`. Made from the lines that Docker and Podman send during a
 * pull. Pure.
 */

/** One line of an engine's answer to a pull. */
export interface PullEvent {
  status?: string;
  /** Id of the layer. */
  id?: string;
  progressDetail?: { current?: number; total?: number };
  error?: string;
}

interface Layer {
  doneBytes: number;
  totalBytes: number;
  done: boolean;
}

/** States in which all of a layer's bytes are here. */
const ARRIVED = /^(Download complete|Verifying Checksum|Extracting|Pull complete|Already exists)/;

/** Progress of one pull. */
export class PullProgress {
  readonly #pulling: string;
  readonly #layers = new Map<string, Layer>();

  /** `name`: as its owner wrote it. `again`: an earlier pull of the image was not completed. */
  constructor(name: string, again = false) {
    this.#pulling = `pulling ${name}${again ? ' again, from the beginning' : ''}`;
  }

  /** True if a part of some layer has arrived. */
  get hasBytes(): boolean {
    return this.#layers.values().some(({ doneBytes }) => doneBytes > 0);
  }

  take(event: PullEvent): void {
    if (!event.id || !event.status || event.status.startsWith('Pulling from')) return;
    const layer = this.#layers.get(event.id) ?? { doneBytes: 0, totalBytes: 0, done: false };
    this.#layers.set(event.id, layer);
    if (ARRIVED.test(event.status)) {
      layer.done = true;
      layer.doneBytes = layer.totalBytes;
    } else if (event.status === 'Downloading') {
      layer.doneBytes = event.progressDetail?.current ?? layer.doneBytes;
      layer.totalBytes = Math.max(event.progressDetail?.total ?? 0, layer.totalBytes);
    }
  }

  /** Bytes to be pulled, as far as they are known. */
  get totalBytes(): number {
    return this.#layers.values().reduce((sum, layer) => sum + layer.totalBytes, 0);
  }

  /** Returns the current progress line. */
  text(): string {
    const layers = [...this.#layers.values()];
    const total = this.totalBytes;
    const done = layers.reduce((sum, layer) => sum + layer.doneBytes, 0);
    const arrived = layers.filter((layer) => layer.done).length;
    if (layers.length === 0) return this.#pulling;
    if (total === 0) return `${this.#pulling}: ${arrived} of ${layers.length} layers`;
    // Sizes of layers only become known during the pull. Until all are known, the total would mislead.
    if (layers.some((layer) => !layer.done && layer.totalBytes === 0)) {
      return `${this.#pulling}: ${arrived} of ${layers.length} layers, ${sizeText(done)}`;
    }
    return `${this.#pulling}: ${Math.floor((done / total) * 100)} % of ${sizeText(total)}`;
  }
}

/** Returns a size for people, in powers of 1000 as registries show them. */
export function sizeText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), units.length - 1);
  const value = bytes / 1000 ** power;
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${units[power]!}`;
}
