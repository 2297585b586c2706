/**
 * Describes the fault of a variable without its value. graphql-js prints the whole value, which may hold a password or
 * an environment, and clients log error texts.
 */

const HEAD = /^Variable "\$\w+" got invalid value/;
/** Matches the last location in the text. Text before it may be part of the value. */
const LOCATION = /^[^]*( at "[\w.[\]]+"); /;
/** Texts of graphql-js that describe the fault, each without the value that may follow. */
const FAULTS = [
  /^[^]*; (Field "\w+" (?:is not defined by type|of required type) [^;]*)$/,
  /^[^]*; (Expected (?:non-nullable )?type "[^"]*" (?:not to be null|to be an object))\.$/,
  /^[^]*; ((?:\w+|Enum "\w+") cannot represent [\w -]*value)\b/,
  /^[^]*" (does not exist in "\w+" enum)\./,
];

/** Returns the text with the location and the fault, but without the value. Returns other texts unchanged. */
export function withoutValue(message: string): string {
  const head = HEAD.exec(message)?.[0];
  if (head === undefined) return message;
  const location = LOCATION.exec(message)?.[1] ?? '';
  const fault = FAULTS.map((known) => known.exec(message)?.[1]).find((text) => text !== undefined);
  return `${head}${location}; ${fault ?? 'it does not fit its type'}`;
}
