/** Documents that were found valid, by their text. Bounded in number and in text, because anybody may send long ones. */

/** See the file's first line. */
export class DocumentCache<Document> {
  readonly #documentsMax: number;
  readonly #charactersMax: number;
  readonly #documents = new Map<string, Document>();
  #characters = 0;

  /** `charactersMax`: of the texts of all together. */
  constructor(documentsMax: number, charactersMax: number) {
    this.#documentsMax = documentsMax;
    this.#charactersMax = charactersMax;
  }

  /** The document with this text. Undefined: it is not kept. */
  get(text: string): Document | undefined {
    return this.#documents.get(text);
  }

  /** Keeps a document; the oldest ones go to make room. One that is too long for all the room is not kept. */
  set(text: string, document: Document): void {
    if (text.length > this.#charactersMax) return;
    this.#forget(text);
    for (const oldest of this.#documents.keys()) {
      if (this.#documents.size < this.#documentsMax && this.#characters + text.length <= this.#charactersMax) break;
      this.#forget(oldest);
    }
    this.#documents.set(text, document);
    this.#characters += text.length;
  }

  #forget(text: string): void {
    if (this.#documents.delete(text)) this.#characters -= text.length;
  }
}
