/** Chance from a seed, for tests and for what `npm run` starts. */
import type { Random } from '@slipway/kit/time/clock';

/** Chance from a seed, and picks from it. */
export interface SeededRandom extends Random {
  /** Returns a whole number from 0 up to, and without, `max`. */
  below(max: number): number;
  /** Returns one of the items. */
  one<Item>(items: readonly Item[]): Item;
}

/** Returns random numbers that depend on the seed alone (mulberry32). */
export function randomOf(seed: number): SeededRandom {
  let state = seed >>> 0;
  const fraction = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (max: number): number => Math.floor(fraction() * max);
  const hex = (length: number): string => Array.from({ length }, () => below(16).toString(16)).join('');
  return {
    fraction,
    below,
    one: (items) => items[below(items.length)]!,
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`,
    bytes: (length) => {
      const bytes = Buffer.alloc(length);
      for (let at = 0; at < length; at += 1) bytes[at] = below(256);
      return bytes;
    },
    id: (length) => Array.from({ length }, () => below(36).toString(36)).join(''),
  };
}
