/** Names the values of generated enums. */

/** Returns the name of a value, or its number if this version does not know it. */
export function enumName(values: Readonly<Record<string, number>>, value: number): string {
  return Object.keys(values).find((name) => values[name] === value) ?? String(value);
}
