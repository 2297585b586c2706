/** Images of a simulated machine: each is pulled once, however many workers wait for it. */

export class FleetImages {
  readonly #here = new Set<string>();
  readonly #pulls = new Map<string, (() => void)[]>();
  readonly #pull: (done: () => void) => void;
  readonly #onChange: () => void;

  /** `pull` takes the time of a pull and calls back. `onChange` is called after each new image. */
  constructor(pull: (done: () => void) => void, onChange: () => void) {
    this.#pull = pull;
    this.#onChange = onChange;
  }

  /** In the form of machine reports. */
  get list() {
    return [...this.#here].map((name) => ({ name, digest: '', sizeBytes: 0 }));
  }

  /** Calls back when the image is present, at once without an image. */
  with(name: string, then: () => void): void {
    if (name === '' || this.#here.has(name)) return then();
    const waiting = this.#pulls.get(name);
    if (waiting) return void waiting.push(then);
    const all = [then];
    this.#pulls.set(name, all);
    this.#pull(() => {
      this.#pulls.delete(name);
      this.#here.add(name);
      this.#onChange();
      for (const next of all) next();
    });
  }
}
