/** Collects the fields of a partial update: what the client named, under the contract's name, and nothing else. */

/** A message under construction and the mask that says which of its fields count. */
export interface FieldChanges<Message> {
  changes: Partial<Message>;
  /** Names of the contract, in snake case. */
  mask: string[];
}

/** Starts with no change. */
export function noChanges<Message>(): FieldChanges<Message> {
  return { changes: {}, mask: [] };
}

/** Adds a field when the client gave it. */
export function change<Message, Field extends keyof Message & string>(
  fields: FieldChanges<Message>,
  field: Field,
  value: Message[Field] | undefined,
): void {
  if (value === undefined) return;
  fields.changes[field] = value;
  fields.mask.push(field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
}
