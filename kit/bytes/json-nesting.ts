/** Remembers for each open level of a JSON text whether it is an object: one bit a level. */

/** Levels in one number. */
const LEVELS_PER_WORD = 32;

export class JsonNesting {
  /** Number of open arrays and objects. */
  depth = 0;
  /** Largest `depth` so far. */
  deepest = 0;
  /** A bit for each open level, the innermost last; 1 for an object. Full words go to `#outer`. */
  #isObject = 0;
  readonly #outer: number[] = [];

  /** True if the innermost level is an object. */
  get inObject(): boolean {
    return (this.#isObject & 1) === 1;
  }

  /** Opens an object (1) or an array (0). */
  open(isObject: 0 | 1): void {
    if (this.depth > 0 && this.depth % LEVELS_PER_WORD === 0) this.#outer.push(this.#isObject);
    this.#isObject = (this.#isObject << 1) | isObject;
    this.depth += 1;
    if (this.depth > this.deepest) this.deepest = this.depth;
  }

  /** Closes the innermost level. */
  close(): void {
    this.depth -= 1;
    this.#isObject >>>= 1;
    if (this.depth > 0 && this.depth % LEVELS_PER_WORD === 0) this.#isObject = this.#outer.pop()!;
  }
}
