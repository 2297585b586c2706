/** Envoy compares headers of answers by regular expressions only. */

/** A regular expression for whole numbers, without leading zeros, above this one. Pure. */
export function above(limit: number): string {
  const digits = String(limit);
  const larger = [...digits].flatMap((digit, index) => {
    const rest = digits.length - index - 1;
    return digit === '9' ? [] : [`${digits.slice(0, index)}[${Number(digit) + 1}-9]${rest > 0 ? `[0-9]{${rest}}` : ''}`];
  });
  return `${larger.join('|')}|[1-9][0-9]{${digits.length},}`;
}
