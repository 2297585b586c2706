/** A closed set of names for a label: the first ones keep their own, all further ones are "other", so that no user can make a database of metrics grow. */

/** The label of those that have no place. */
export const OTHER = 'other';

export class BoundedNames {
  readonly #namesMax: number;
  readonly #names = new Set<string>();

  constructor(namesMax: number) {
    this.#namesMax = namesMax;
  }

  /** What a name is called in labels. */
  of(name: string): string {
    if (this.#names.has(name)) return name;
    if (this.#names.size >= this.#namesMax) return OTHER;
    this.#names.add(name);
    return name;
  }

  /** Gives up the names that are not among these, so that others get their place. Answers which. */
  keep(names: ReadonlySet<string>): string[] {
    const gone = [...this.#names].filter((name) => !names.has(name));
    for (const name of gone) this.#names.delete(name);
    return gone;
  }
}
