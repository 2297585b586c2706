/**
 * Which worker uses which models. Kept on the disk: workers in containers outlive their agent, and the next agent must
 * not remove what they use.
 */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Folder with a file for each worker: the names of the folders of its models. */
const FOLDER = '.pins';

export class ModelUses {
  readonly #folder: string;
  readonly #pins = new Map<string, Set<string>>();

  /** `store`: the folder of models. */
  constructor(store: string) {
    this.#folder = join(store, FOLDER);
  }

  /** Reads what an earlier agent left. */
  async open(): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    for (const owner of await readdir(this.#folder))
      this.#pins.set(owner, new Set((await readFile(join(this.#folder, owner), 'utf8')).split('\n')));
  }

  /** Names of all folders that some worker uses. */
  get names(): ReadonlySet<string> {
    return new Set([...this.#pins.values()].flatMap((names) => [...names]));
  }

  async add(owner: string, name: string): Promise<void> {
    const names = (this.#pins.get(owner) ?? new Set()).add(name);
    this.#pins.set(owner, names);
    await writeFile(join(this.#folder, owner), [...names].join('\n'));
  }

  /** Ends the use by a worker. */
  async drop(owner: string): Promise<void> {
    if (this.#pins.delete(owner)) await rm(join(this.#folder, owner), { force: true });
  }

  /** Ends the use by all workers but these. */
  async dropOthers(owners: ReadonlySet<string>): Promise<void> {
    for (const owner of [...this.#pins.keys()]) if (!owners.has(owner)) await this.drop(owner);
  }
}
