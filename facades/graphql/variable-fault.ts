/**
 * What is wrong with a variable, without its value: graphql-js prints the whole of it, and it may hold a password or an
 * environment. Clients log error texts.
 */

const HEAD = /^Variable "\$\w+" got invalid value/;
/** The last place that is named: what comes before may be part of the value. */
const PLACE = /^[^]*( at "[\w.[\]]+"); /;
/** The texts of graphql-js that say what is wrong, each without the value that may follow. */
const FAULTS = [
  /^[^]*; (Field "\w+" (?:is not defined by type|of required type) [^;]*)$/,
  /^[^]*; (Expected (?:non-nullable )?type "[^"]*" (?:not to be null|to be an object))\.$/,
  /^[^]*; ((?:\w+|Enum "\w+") cannot represent [\w -]*value)\b/,
  /^[^]*; Value "[^]*" (does not exist in "\w+" enum)\./,
];

/** The text with the place and the fault, but no value. Texts about anything else stay as they are. */
export function withoutValue(message: string): string {
  const head = HEAD.exec(message)?.[0];
  if (head === undefined) return message;
  const place = PLACE.exec(message)?.[1] ?? '';
  const fault = FAULTS.map((known) => known.exec(message)?.[1]).find((text) => text !== undefined);
  return `${head}${place}; ${fault ?? 'it does not fit its type'}`;
}
