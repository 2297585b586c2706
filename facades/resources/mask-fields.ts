/** Collects the fields that the client set in a partial update, under their contract names. */

/** A message under construction, and the mask of its fields that count. */
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
