/** Changes that an update mask names: fields of a message, under their names in the contract. */
import { invalid } from '../../domain/settings/fields.ts';

const SHOWN_LENGTH_MAX = 64;

/** How each field that may be named in a mask gets its new value. */
export type FieldReaders<Message, Change> = Readonly<Record<string, (message: Message) => Change>>;

/** Reads what the mask names. INVALID_REQUEST: it is empty or names a field that cannot be changed. */
export function changeFromMask<Message extends object, Change extends object>(
  message: Message,
  mask: readonly string[],
  readers: FieldReaders<Message, Change>,
): Partial<Change> {
  if (mask.length === 0) throw invalid('update_mask is empty: name the fields to change');
  const change: Partial<Change> = {};
  for (const path of mask) {
    const reader = Object.hasOwn(readers, path) ? readers[path] : undefined;
    if (!reader) throw refusal(message, path, Object.keys(readers));
    Object.assign(change, reader(message));
  }
  return change;
}

/**
 * Clients of the public surfaces name fields that are fixed and know nothing of masks; only callers of the contract
 * name what is no field.
 */
function refusal(message: object, path: string, allowed: readonly string[]): Error {
  const field = path.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  if (Object.hasOwn(message, field)) return invalid(`${path} cannot be changed`);
  return invalid(
    `update_mask: ${JSON.stringify(path.slice(0, SHOWN_LENGTH_MAX))} is no field; allowed are ${allowed.join(', ')}`,
  );
}
