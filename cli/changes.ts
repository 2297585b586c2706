/** Collects the fields that a command names, under the contract's names, and nothing else. */

/** A message under construction, and the mask of its fields that count. */
export interface Changes<Message> {
  fields: Partial<Message>;
  /** Names of the contract, in snake case. */
  mask: string[];
}

/** Copies the given values. `undefined` values are left out. */
export function changesOf<Message>(given: { [Field in keyof Message]?: Message[Field] | undefined }): Changes<Message> {
  const named = Object.entries(given).filter(([, value]) => value !== undefined);
  return {
    fields: Object.fromEntries(named) as Partial<Message>,
    mask: named.map(([field]) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)),
  };
}
