/** Converts changes with an update mask: the named fields of a message, by their names in the contract. */
import { invalid } from '../../domain/settings/fields.ts';

const SHOWN_LENGTH_MAX = 64;

/** Readers of the fields that a mask may name. */
export type FieldReaders<Message, Change> = Readonly<Record<string, (message: Message) => Change>>;

/**
 * Returns the change that the mask names. Throws INVALID_REQUEST if it is empty or names a field that cannot be
 * changed.
 */
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
 * Returns the error for a field that cannot be changed. Clients of the public APIs may name fixed fields and do not
 * know masks; only callers of the contract name unknown fields.
 */
function refusal(message: object, path: string, allowed: readonly string[]): Error {
  const field = path.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  if (Object.hasOwn(message, field)) return invalid(`${path} cannot be changed`);
  return invalid(
    `update_mask: ${JSON.stringify(path.slice(0, SHOWN_LENGTH_MAX))} is no field; allowed are ${allowed.join(', ')}`,
  );
}
