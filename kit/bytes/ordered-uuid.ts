/**
 * Ids of rows that are stored by the million. A UUID of version 7 begins with its millisecond, so rows that are created
 * together are together in every index on it. With random ids, each insert, claim and deletion would touch a page of
 * its own, and log it as a whole after each checkpoint.
 */
import type { Clock, Random } from '../time/clock.ts';

/** Returns an unguessable UUID that sorts by creation time. */
export function orderedUuid({ clock, random }: { clock: Pick<Clock, 'nowMs'>; random: Pick<Random, 'uuid'> }): string {
  const ms = Math.max(0, Math.trunc(clock.nowMs())).toString(16).padStart(12, '0');
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7${random.uuid().slice(15)}`;
}
