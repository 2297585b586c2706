/**
 * Identifiers of what is stored by the million. A UUID of version 7 begins with its millisecond, so rows that are made
 * together lie together in every index that has it: with random ones each insert, claim and deletion touches a page of
 * its own, and logs it whole after each checkpoint.
 */
import type { Clock, Random } from '../time/clock.ts';

/** Returns an unguessable UUID that sorts by creation time. */
export function orderedUuid({ clock, random }: { clock: Pick<Clock, 'nowMs'>; random: Pick<Random, 'uuid'> }): string {
  const ms = Math.max(0, Math.trunc(clock.nowMs())).toString(16).padStart(12, '0');
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7${random.uuid().slice(15)}`;
}
