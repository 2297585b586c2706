/** What Envoy compares by regular expressions, which know neither numbers nor "not". Pure. */

/** A regular expression for whole numbers, without leading zeros, above this one. */
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

/** A regular expression for all but this word of letters, in whatever case. */
export function otherThan(word: string): string {
  const parts = [...word].map((letter, index) => `${word.slice(0, index)}([^${letter}].*)?`);
  return `(?i)(${[...parts, `${word}.+`].join('|')})`;
}
