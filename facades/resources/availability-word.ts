/** The remaining capacity in the words of the public surfaces. */

/** Share that is free at least, for each word. */
const HIGH_SHARE = 2 / 3;
const MEDIUM_SHARE = 1 / 3;

/** Stock of a type, in all data centers or in one. */
export interface Stock {
  total: number;
  free: number;
  /** Most that any single machine has, free or not. */
  countMax: number;
}

/** Returns the word for the remaining capacity if `wanted` are needed on one machine. */
export function availabilityWord({ total, free, countMax }: Stock, wanted = 1): 'High' | 'Medium' | 'Low' | 'None' {
  if (free < Math.max(1, wanted) || countMax < wanted) return 'None';
  const share = free / total;
  if (share >= HIGH_SHARE) return 'High';
  return share >= MEDIUM_SHARE ? 'Medium' : 'Low';
}
