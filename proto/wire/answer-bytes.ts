/** Remembers how many bytes an answer of core had on the wire, which is about the memory that it takes. */

const sizes = new WeakMap<object, number>();

/** Records the bytes of an answer. Returns the answer. */
export function withBytes(answer: object, bytes: number): object {
  sizes.set(answer, bytes);
  return answer;
}

/** Returns the bytes of an answer, 0 if they were not recorded. */
export function bytesOf(answer: object): number {
  return sizes.get(answer) ?? 0;
}
