/** Reads what `nvidia-smi nvlink -e` reports: the errors of each card's NVLinks since its last reset. Pure. */

/** Errors of all links of a card. */
export interface LinkErrors {
  /** Errors that the links repaired, for instance by sending data again. */
  repaired: number;
  /** Recoveries of a link that failed. */
  failed: number;
}

const CARD = /^GPU \d+: .*\(UUID: ([^)]+)\)/;
const COUNTER = /^\s*Link \d+: (.+?): (\d+)\s*$/;
const REPAIRED = /^(Replay|Recovery|CRC|Malformed packet|Buffer overrun|Local link integrity) Errors$/i;
const FAILED = /^Link recovery failed events$/i;

/** Returns the errors of each card with links, by its UUID. Bit errors that a link corrects itself are left out. */
export function parseLinkErrors(text: string): Map<string, LinkErrors> {
  const cards = new Map<string, LinkErrors>();
  let uuid = '';
  for (const line of text.split('\n')) {
    uuid = CARD.exec(line)?.[1] ?? uuid;
    const [, name = '', count] = COUNTER.exec(line) ?? [];
    if (count === undefined || uuid === '') continue;
    const errors = cards.get(uuid) ?? { repaired: 0, failed: 0 };
    cards.set(uuid, errors);
    if (REPAIRED.test(name)) errors.repaired += Number(count);
    if (FAILED.test(name)) errors.failed += Number(count);
  }
  return cards;
}
