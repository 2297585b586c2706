/** How much is left of something, as the public surfaces say it. */

/** Share that is free at least, for each word. */
const HIGH_SHARE = 2 / 3;
const MEDIUM_SHARE = 1 / 3;

/** Stock of a type, in all data centers or in one. */
export interface Stock {
  total: number;
  free: number;
  /** The most that one machine has, free or not. */
  countMax: number;
}

/** Returns the word for what is left when `wanted` are to be on one machine. */
export function stockWord({ total, free, countMax }: Stock, wanted = 1): 'High' | 'Medium' | 'Low' | 'None' {
  if (free < Math.max(1, wanted) || countMax < wanted) return 'None';
  const share = free / total;
  return share >= HIGH_SHARE ? 'High' : share >= MEDIUM_SHARE ? 'Medium' : 'Low';
}
