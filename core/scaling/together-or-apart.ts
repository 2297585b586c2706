/** Turns are taken together; where that fails, one that fails takes none of the others along. */
import { isLockTimeout } from '../store/transient.ts';
import { TurnsGivenUpError } from '../store/turn-course.ts';

/** So many find alone, too, that others hold a lock: then it is one that all of them need, and those that are left go to the next look. */
const HELD_UP_MAX = 2;

/** `take` takes turns of these endpoints in one transaction; false: none was taken. Fails as one of them does that fails alone. */
export async function togetherOrApart(endpointIds: readonly string[], take: (endpointIds: readonly string[]) => Promise<boolean>): Promise<void> {
  if (endpointIds.length === 1) return void await take(endpointIds);
  let heldUp = false;
  const taken = await take(endpointIds).catch((error: unknown) => {
    heldUp = isHeldUp(error);
    return false;
  });
  if (taken) return;
  if (heldUp) return oneByOne(endpointIds, take);
  const each = await Promise.allSettled(endpointIds.map((id) => take([id])));
  for (const one of each) if (one.status === 'rejected') throw one.reason;
}

/** Not all at once: they would take all connections to wait. */
async function oneByOne(endpointIds: readonly string[], take: (endpointIds: readonly string[]) => Promise<boolean>): Promise<void> {
  const failures: unknown[] = [];
  for (const id of endpointIds) {
    await take([id]).catch((error: unknown) => failures.push(error));
    if (failures.filter(isHeldUp).length === HELD_UP_MAX) break;
  }
  if (failures.length > 0) throw failures[0];
}

/** Something that others hold kept it from going on. */
function isHeldUp(error: unknown): boolean {
  return error instanceof TurnsGivenUpError || isLockTimeout(error);
}
