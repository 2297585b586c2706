/** Collects the fields that a command names, under the contract's names, and nothing else. */

/** A message under construction and the mask that says which of its fields count. */
export interface Changes<Message> {
  fields: Partial<Message>;
  /** Names of the contract, in snake case. */
  mask: string[];
}

/** Takes over what is given; undefined values are not. */
export function changesOf<Message>(given: { [Field in keyof Message]?: Message[Field] | undefined }): Changes<Message> {
  const named = Object.entries(given).filter(([, value]) => value !== undefined);
  return {
    fields: Object.fromEntries(named) as Partial<Message>,
    mask: named.map(([field]) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)),
  };
}
