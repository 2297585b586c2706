/** Runs a step over many items, a few at once. */

const AT_ONCE = 32;

/** Maps items with limited concurrency. Returns results in order. */
export async function many<Item, Result>(
  items: readonly Item[],
  what: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const left = [...items.entries()].reverse();
  await Promise.all(
    range(Math.min(AT_ONCE, items.length)).map(async () => {
      for (let next = left.pop(); next; next = left.pop()) results[next[0]] = await what(next[1]);
    }),
  );
  return results;
}

export function range(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n);
}
