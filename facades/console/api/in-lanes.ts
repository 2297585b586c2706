/** Calls at a time: looking on must not crowd out the account's own calls. */
const AT_ONCE = 6;

/** Calls a function for each item, some at a time. Returns the results in order. */
export async function inLanes<Item, Answer>(
  items: readonly Item[],
  ask: (item: Item) => Promise<Answer>,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) answers[at] = await ask(items[at]!);
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, lane));
  return answers;
}
