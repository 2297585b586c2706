/** Names of values of the contract's enums, for logs: `READY` says more than 2. */

/** The value's name; its number when this version does not know it. */
export function enumName(values: Readonly<Record<string, number>>, value: number): string {
  return Object.keys(values).find((name) => values[name] === value) ?? String(value);
}
