/**
 * Regular expressions for Envoy's comparisons. They express number ranges and "not", for which they have no syntax.
 * Pure functions.
 */

/** Returns a regular expression for whole numbers above `limit`, without leading zeros. */
export function above(limit: number): string {
  const digits = String(limit);
  const larger = [...digits].flatMap((digit, index) => {
    const rest = digits.length - index - 1;
    return digit === '9'
      ? []
      : [`${digits.slice(0, index)}[${Number(digit) + 1}-9]${rest > 0 ? `[0-9]{${rest}}` : ''}`];
  });
  return `${larger.join('|')}|[1-9][0-9]{${digits.length},}`;
}

/** Returns a regular expression for every text except this word of letters, in any case. */
export function otherThan(word: string): string {
  const parts = [...word].map((letter, index) => `${word.slice(0, index)}([^${letter}].*)?`);
  return `(?i)(${[...parts, `${word}.+`].join('|')})`;
}
