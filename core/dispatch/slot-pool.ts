/**
 * Room on the workers whose sessions this replica holds, by core's own count: capacity as the agent reports it, less the attempts that were
 * given to the worker and have not ended, less slots that are out for a claim. Taking and giving cost nearly the same however many workers
 * there are. Kept in memory only: it is rebuilt from what agents say in their hellos.
 */
import type { MachineAttempt } from '../domain/job.ts';
import type { ClaimedJob, GivenJob, Slot, SlotSource } from '../jobs/slots.ts';
import { OpenPlaces } from './open-places.ts';
import { emptyPlace, freeOf, stockOf } from './place.ts';
import type { AssignmentSink, HeldAttempt, Place } from './place.ts';

export type { AssignmentSink, HeldAttempt } from './place.ts';

/** What the pool tells the rest of dispatch. */
export interface SlotPoolListener {
  /** An endpoint has room that it did not have before. */
  onRoom(endpointId: string): void;
  /** Claims whose session has gone: no worker has seen them. */
  onOrphans(jobs: readonly ClaimedJob[]): void;
}

/** Names an attempt in memory. With its machine: what the agent of another one says about it must never be mistaken for its own word. */
export function attemptId(key: MachineAttempt): string {
  return `${key.machineId}/${key.endpointId}/${key.jobId}/${key.attempt}`;
}

export class SlotPool implements SlotSource {
  readonly #places = new Map<string, Place>();
  /** Of each endpoint the places that have room; absent: none has. */
  readonly #open = new Map<string, OpenPlaces>();
  #ranks = 0;
  readonly #holders = new Map<string, Place>();
  readonly #workersOf = new Map<string, number>();
  /** Places of each endpoint whose stock runs low. */
  readonly #low = new Map<string, Set<Place>>();
  readonly #listener: SlotPoolListener;

  constructor(listener: SlotPoolListener) {
    this.#listener = listener;
  }

  /** Adds a worker, or gives it to a new session. Attempts that its agent says it holds count at once. */
  attach(slot: Slot, sink: AssignmentSink, held: readonly HeldAttempt[]): void {
    const before = this.#places.get(slot.workerId);
    const place = before ?? emptyPlace(slot, sink, this.#ranks += 1);
    this.#places.set(slot.workerId, place);
    if (!before) this.#count(slot.endpointId, 1);
    for (const id of place.held.keys()) this.#holders.delete(id);
    place.held.clear();
    place.sink = sink;
    place.retired = false;
    for (const attempt of held) this.#hold(place, attempt);
    this.#list(place);
  }

  /** Changes what a worker can take, and whether it is to run (default). */
  update(workerId: string, change: { capacity: number; open: boolean; awake?: boolean; takesAhead?: boolean; keepsAhead?: boolean }): void {
    const place = this.#places.get(workerId);
    if (!place) return;
    const { awake = true, takesAhead = false, keepsAhead = false } = change;
    if (place.awake !== awake) this.#count(place.slot.endpointId, awake ? 1 : -1);
    place.awake = awake;
    place.capacity = change.capacity;
    place.takesAhead = takesAhead;
    place.keepsAhead = keepsAhead;
    place.open = change.open;
    this.#offer(place);
  }

  /** Takes a worker out, if it still belongs to this session. Its attempts are no longer counted. */
  detach(workerId: string, sink: AssignmentSink): void {
    const place = this.#places.get(workerId);
    if (!place || place.sink !== sink) return;
    place.sink = undefined;
    place.open = false;
    place.capacity = 0;
    place.stock = 0;
    place.last = undefined;
    this.#low.get(place.slot.endpointId)?.delete(place);
    for (const id of place.held.keys()) this.#holders.delete(id);
    place.held.clear();
    this.#list(place);
    this.#forgetWhenUnused(place);
  }

  /** Takes a worker out as soon as no attempt is counted on it: it has ended, and its last results may still be on their way. */
  retire(workerId: string, sink: AssignmentSink): void {
    const place = this.#places.get(workerId);
    if (!place || place.sink !== sink) return;
    place.retired = true;
    place.open = false;
    this.#list(place);
    if (place.held.size === 0) this.detach(workerId, sink);
  }

  /** An attempt ended, `id` being its name. True: it was counted until now. */
  release(key: MachineAttempt, id = attemptId(key)): boolean {
    const place = this.#holders.get(id);
    if (!place) return false;
    this.#holders.delete(id);
    place.held.delete(id);
    if (place.retired && place.sink && place.held.size === 0) this.detach(place.slot.workerId, place.sink);
    else this.#offer(place);
    return true;
  }

  take(endpointId: string, count: number): Slot[] {
    const slots: Slot[] = [];
    while (slots.length < count) {
      const place = this.#open.get(endpointId)?.first();
      if (!place) break;
      place.reserved += 1;
      slots.push(place.slot);
      this.#list(place);
    }
    return slots;
  }

  /** Any of the endpoint's workers has room. */
  hasRoom(endpointId: string): boolean {
    return this.#open.has(endpointId);
  }

  /** Another of the endpoint's workers has room. */
  hasRoomBeside(endpointId: string, workerId: string): boolean {
    const open = this.#open.get(endpointId);
    return open !== undefined && (open.size > 1 || [...open].some((place) => place.slot.workerId !== workerId));
  }

  /** The jobs that the workers whose stock runs low were given last; empty: none does. */
  runningLow(endpointId: string): GivenJob[] {
    return [...this.#low.get(endpointId) ?? []].flatMap(({ last }) => last ?? []);
  }

  /**
   * Room beyond what workers asked for, in turn: on those of `taken`, and on those whose stock runs low. `ahead` says how much for one that asks for so
   * many; for one whose agent keeps it that is all that the worker can hold.
   */
  takeAhead(endpointId: string, taken: readonly Slot[], ahead: (slots: number) => number): Slot[] {
    const asked = Map.groupBy(taken, ({ workerId }) => workerId);
    const places = new Set([...asked.keys()].flatMap((workerId) => this.#places.get(workerId) ?? []));
    for (const place of this.#low.get(endpointId) ?? []) places.add(place);
    this.#low.delete(endpointId);
    const open = [...places].flatMap((place) => {
      if (!place.open || !(place.takesAhead || place.keepsAhead)) return [];
      // One whose stock ran low may have stopped keeping any since: it gets more only with what it asks for.
      if (!place.keepsAhead) return [{ place, left: ahead(asked.get(place.slot.workerId)?.length ?? 0) }];
      const stock = Math.max(stockOf(place), 0);
      place.stock = stock;
      return [{ place, left: ahead(place.capacity) - stock }];
    }).filter(({ left }) => left > 0);
    const slots: Slot[] = [];
    for (let some = open; some.length > 0; some = some.filter(({ left }) => left > 0)) {
      for (const entry of some) {
        entry.left -= 1;
        if (entry.left < 0) continue;
        entry.place.reserved += 1;
        this.#list(entry.place);
        slots.push(entry.place.slot);
      }
    }
    return slots;
  }

  give(slots: readonly Slot[]): void {
    for (const { workerId } of slots) {
      const place = this.#places.get(workerId);
      if (!place) continue;
      place.reserved = Math.max(place.reserved - 1, 0);
      this.#list(place);
      this.#forgetWhenUnused(place);
    }
  }

  assign(jobs: readonly ClaimedJob[]): void {
    const bySink = new Map<AssignmentSink, ClaimedJob[]>();
    const orphans: ClaimedJob[] = [];
    for (const job of jobs) {
      const place = this.#places.get(job.workerId);
      if (place) place.reserved = Math.max(place.reserved - 1, 0);
      if (!place?.sink) {
        orphans.push(job);
        if (place) this.#forgetWhenUnused(place);
        continue;
      }
      this.#hold(place, job);
      this.#list(place);
      place.last = { jobId: job.jobId, inputSize: job.inputSize };
      if (job.ahead) place.stock += 1;
      const batch = bySink.get(place.sink);
      if (batch) batch.push(job);
      else bySink.set(place.sink, [job]);
    }
    for (const [sink, batch] of bySink) sink.assign(batch);
    if (orphans.length > 0) this.#listener.onOrphans(orphans);
  }

  /** Attempts that a worker was given and that have not ended. */
  heldBy(workerId: string): HeldAttempt[] {
    return [...this.#places.get(workerId)?.held.values() ?? []];
  }

  /** Whether an attempt is counted. */
  holds(key: MachineAttempt): boolean {
    return this.#holders.has(attemptId(key));
  }

  /** The worker that an attempt was given to. Undefined: it is not counted here. */
  workerOf(key: MachineAttempt): string | undefined {
    return this.#holders.get(attemptId(key))?.slot.workerId;
  }

  /** Whether this replica holds the session of any worker of an endpoint that is to run. */
  hasWorker(endpointId: string): boolean {
    return (this.#workersOf.get(endpointId) ?? 0) > 0;
  }

  /** Endpoints with room. */
  endpointsWithRoom(): string[] {
    return [...this.#open.keys()];
  }

  #hold(place: Place, { endpointId, jobId, attempt }: MachineAttempt): void {
    const held = { endpointId, jobId, attempt, workerId: place.slot.workerId, machineId: place.slot.machineId };
    const id = attemptId(held);
    place.held.set(id, held);
    this.#holders.set(id, place);
  }

  #offer(place: Place): void {
    this.#list(place);
    if (freeOf(place) <= 0) {
      if (place.open && place.keepsAhead && stockOf(place) < place.stock / 2) this.#runsLow(place);
      return;
    }
    this.#listener.onRoom(place.slot.endpointId);
  }

  /** Takes note of what a place has and can be given now: after every change of either. */
  #list(place: Place): void {
    const { endpointId } = place.slot;
    const open = this.#open.get(endpointId);
    if (freeOf(place) > 0) {
      const listed = open ?? new OpenPlaces();
      if (!open) this.#open.set(endpointId, listed);
      listed.put(place);
      return;
    }
    open?.remove(place);
    if (open?.size === 0) this.#open.delete(endpointId);
  }

  #runsLow(place: Place): void {
    const { endpointId } = place.slot;
    const others = this.#low.get(endpointId);
    if (others?.has(place)) return;
    if (others) others.add(place);
    else this.#low.set(endpointId, new Set([place]));
    this.#listener.onRoom(endpointId);
  }

  #forgetWhenUnused(place: Place): void {
    if (place.sink || place.reserved > 0 || !this.#places.delete(place.slot.workerId)) return;
    if (place.awake) this.#count(place.slot.endpointId, -1);
  }

  #count(endpointId: string, change: number): void {
    const count = (this.#workersOf.get(endpointId) ?? 0) + change;
    if (count > 0) this.#workersOf.set(endpointId, count);
    else this.#workersOf.delete(endpointId);
  }
}
