/** Bounds the values of a metric label: the first names keep their own, all others become "other". */

/** Label of names that are over the limit. */
export const OTHER = 'other';

export class BoundedNames {
  readonly #namesMax: number;
  readonly #names = new Set<string>();

  constructor(namesMax: number) {
    this.#namesMax = namesMax;
  }

  /** Returns the label of a name. */
  of(name: string): string {
    if (this.#names.has(name)) return name;
    if (this.#names.size >= this.#namesMax) return OTHER;
    this.#names.add(name);
    return name;
  }

  /** Drops all names but these, which frees capacity for others. Returns the dropped names. */
  keep(names: ReadonlySet<string>): string[] {
    const gone = [...this.#names].filter((name) => !names.has(name));
    for (const name of gone) this.#names.delete(name);
    return gone;
  }
}
