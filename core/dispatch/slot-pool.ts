/**
 * Free slots on the workers whose sessions this replica holds: the capacity that the agent reports, less attempts
 * that have not ended, less slots reserved by claims. Reserving costs nearly the same for any number of workers. Kept
 * in memory only and rebuilt from the agents' hellos.
 */
import type { MachineAttempt } from '../domain/jobs/job.ts';
import type { LiveAttempt, LiveJobs } from '../jobs/live-jobs.ts';
import type { AssignedJob, ClaimedJob, Slot, SlotSource } from '../jobs/slots.ts';
import { HeldAttempts } from './held-attempts.ts';
import { OpenWorkers } from './open-workers.ts';
import type { AssignmentSink, HeldAttempt, WorkerSlots } from './worker-slots.ts';
import { beginRefill, freeSlots, hasBacklog, needsRefill, newWorkerSlots, sinkFor } from './worker-slots.ts';

export type { AssignmentSink, HeldAttempt } from './worker-slots.ts';
export { attemptId } from './worker-slots.ts';

/** Receives events of the pool. */
interface SlotPoolListener {
  /** Called when an endpoint has new capacity. */
  onCapacity(endpointId: string): void;
  /** Called with claims that must not be sent to their workers. No worker has seen them. */
  onOrphans(jobs: readonly ClaimedJob[]): void;
}

export class SlotPool implements SlotSource {
  readonly #workers = new Map<string, WorkerSlots>();
  /** Workers with free slots by endpoint; absent if none has any. */
  readonly #open = new Map<string, OpenWorkers>();
  #ranks = 0;
  readonly #workersOf = new Map<string, number>();
  /** Workers of each endpoint that need a prefetch refill. */
  readonly #low = new Map<string, Set<WorkerSlots>>();
  readonly #held: HeldAttempts;
  readonly #listener: SlotPoolListener;

  constructor(live: LiveJobs, listener: SlotPoolListener) {
    this.#held = new HeldAttempts(live);
    this.#listener = listener;
  }

  /** Adds a worker, or moves it to a new session and fences it. Attempts that its agent holds count at once. */
  attach(slot: Slot, sink: AssignmentSink, held: readonly HeldAttempt[]): void {
    const before = this.#workers.get(slot.workerId);
    const worker = before ?? newWorkerSlots(slot, sink, (this.#ranks += 1));
    this.#workers.set(slot.workerId, worker);
    if (!before) this.#count(slot.endpointId, 1);
    this.#held.releaseAll(worker);
    worker.sink = sink;
    worker.retired = false;
    this.fence(slot.workerId);
    for (const attempt of held) this.#held.hold(worker, attempt);
    this.#list(worker);
  }

  /**
   * Fences a worker: its claims in flight go back to the queue. Call it before their jobs may be given to others: the
   * replies to the claims may come much later.
   */
  fence(workerId: string): void {
    const worker = this.#workers.get(workerId);
    if (worker) worker.slot = { ...worker.slot, fence: worker.slot.fence + 1 };
  }

  /** Updates a worker's capacity and flags. `shouldRun` defaults to true. */
  update(
    workerId: string,
    change: {
      capacity: number;
      open: boolean;
      shouldRun?: boolean;
      acceptsPrefetch?: boolean;
      agentPrefetches?: boolean;
    },
  ): void {
    const worker = this.#workers.get(workerId);
    if (!worker) return;
    const { shouldRun = true, acceptsPrefetch = false, agentPrefetches = false } = change;
    if (worker.shouldRun !== shouldRun) this.#count(worker.slot.endpointId, shouldRun ? 1 : -1);
    worker.shouldRun = shouldRun;
    worker.capacity = change.capacity;
    worker.acceptsPrefetch = acceptsPrefetch;
    worker.agentPrefetches = agentPrefetches;
    worker.open = change.open;
    this.#offer(worker);
  }

  /** Removes a worker if it still belongs to this session. Its attempts are no longer counted. */
  detach(workerId: string, sink: AssignmentSink): void {
    const worker = this.#workers.get(workerId);
    if (!worker || worker.sink !== sink) return;
    worker.sink = undefined;
    worker.open = false;
    worker.capacity = 0;
    worker.prefetchedAtRefill = 0;
    worker.last = undefined;
    this.#low.get(worker.slot.endpointId)?.delete(worker);
    this.#held.releaseAll(worker);
    this.#list(worker);
    this.#forgetWhenUnused(worker);
  }

  /** Removes an ended worker once no attempt is counted on it. Its last results may still be in flight. */
  retire(workerId: string, sink: AssignmentSink): void {
    const worker = this.#workers.get(workerId);
    if (!worker || worker.sink !== sink) return;
    worker.retired = true;
    worker.open = false;
    this.#list(worker);
    if (worker.held.size === 0) this.detach(workerId, sink);
  }

  /** Releases the slot of an ended attempt. Returns whether it was counted until now. */
  release(key: MachineAttempt): boolean {
    const attempt = this.#held.find(key);
    return attempt !== undefined && this.releaseAttempt(attempt) !== undefined;
  }

  /** Releases the slot of an attempt that was found. Returns its worker; `undefined` if it was not counted. */
  releaseAttempt(attempt: LiveAttempt): WorkerSlots | undefined {
    const workerId = this.#held.release(attempt);
    const worker = workerId === undefined ? undefined : this.#workers.get(workerId);
    if (!worker) return undefined;
    if (worker.retired && worker.sink && worker.held.size === 0) this.detach(worker.slot.workerId, worker.sink);
    else this.#offer(worker);
    return worker;
  }

  /** Counts an outcome of a worker that has arrived (1), and once that it was recorded or given up (-1). */
  countUnrecorded(worker: WorkerSlots, change: 1 | -1): void {
    const had = hasBacklog(worker);
    worker.unrecorded += change;
    if (hasBacklog(worker) !== had) this.#offer(worker);
  }

  reserve(endpointId: string, count: number): Slot[] {
    const slots: Slot[] = [];
    while (slots.length < count) {
      const worker = this.#open.get(endpointId)?.first();
      if (!worker) break;
      // The lease may have ended since it was listed.
      if (freeSlots(worker) > 0) {
        worker.reserved += 1;
        slots.push(worker.slot);
      }
      this.#list(worker);
    }
    return slots;
  }

  /** Returns whether any worker of the endpoint has a free slot. */
  hasCapacity(endpointId: string): boolean {
    return this.#open.has(endpointId);
  }

  /** Returns whether another worker of the endpoint has a free slot. */
  hasOtherCapacity(endpointId: string, workerId: string): boolean {
    const open = this.#open.get(endpointId);
    return open !== undefined && (open.size > 1 || [...open].some((worker) => worker.slot.workerId !== workerId));
  }

  /** Returns the last jobs of the workers that need a prefetch refill. */
  runningLow(endpointId: string): AssignedJob[] {
    return [...(this.#low.get(endpointId) ?? [])].flatMap(({ last }) => last ?? []);
  }

  /**
   * Reserves prefetch slots, round-robin, on the workers of `taken` and on workers that need a refill. `limitOf`: most
   * slots of a worker that asked for so many.
   */
  reservePrefetch(endpointId: string, taken: readonly Slot[], limitOf: (slots: number) => number): Slot[] {
    const asked = Map.groupBy(taken, ({ workerId }) => workerId);
    const workers = new Set([...asked.keys()].flatMap((workerId) => this.#workers.get(workerId) ?? []));
    for (const worker of this.#low.get(endpointId) ?? []) workers.add(worker);
    this.#low.delete(endpointId);
    const open = [...workers]
      .map((worker) => ({ worker, left: beginRefill(worker, asked.get(worker.slot.workerId)?.length ?? 0, limitOf) }))
      .filter(({ left }) => left > 0);
    const slots: Slot[] = [];
    for (let some = open; some.length > 0; some = some.filter(({ left }) => left > 0)) {
      for (const entry of some) {
        entry.left -= 1;
        if (entry.left < 0) continue;
        entry.worker.reserved += 1;
        this.#list(entry.worker);
        slots.push(entry.worker.slot);
      }
    }
    return slots;
  }

  unreserve(slots: readonly Slot[]): void {
    for (const { workerId } of slots) {
      const worker = this.#workers.get(workerId);
      if (!worker) continue;
      worker.reserved = Math.max(worker.reserved - 1, 0);
      this.#list(worker);
      this.#forgetWhenUnused(worker);
    }
  }

  assign(jobs: readonly ClaimedJob[]): void {
    const bySink = new Map<AssignmentSink, ClaimedJob[]>();
    const orphans: ClaimedJob[] = [];
    for (const job of jobs) {
      const worker = this.#workers.get(job.workerId);
      if (worker) worker.reserved = Math.max(worker.reserved - 1, 0);
      const sink = worker && sinkFor(job, worker);
      if (!sink) {
        orphans.push(job);
        if (worker) this.#offer(worker);
        if (worker) this.#forgetWhenUnused(worker);
        continue;
      }
      this.#held.hold(worker, job);
      this.#list(worker);
      worker.last = { jobId: job.jobId, inputSize: job.inputSize };
      if (job.prefetched) worker.prefetchedAtRefill += 1;
      const batch = bySink.get(sink);
      if (batch) batch.push(job);
      else bySink.set(sink, [job]);
    }
    for (const [sink, batch] of bySink) sink.assign(batch);
    if (orphans.length > 0) this.#listener.onOrphans(orphans);
  }

  /** True if any attempt is counted. */
  get busy(): boolean {
    return this.#held.size > 0;
  }

  /** Returns the attempts of a worker that have not ended. */
  heldBy(workerId: string): HeldAttempt[] {
    const worker = this.#workers.get(workerId);
    return worker ? this.#held.of(worker) : [];
  }

  /** Returns whether an attempt is counted. */
  holds(key: MachineAttempt): boolean {
    return this.workerOf(key) !== undefined;
  }

  /** Returns the worker of an attempt; `undefined` if it is not counted here. */
  workerOf(key: MachineAttempt): string | undefined {
    return this.#held.find(key)?.holder?.workerId;
  }

  /** Returns whether this replica has the session of any worker of the endpoint whose desired state is RUN. */
  hasWorker(endpointId: string): boolean {
    return (this.#workersOf.get(endpointId) ?? 0) > 0;
  }

  /** Returns endpoints with free slots. */
  endpointsWithCapacity(): string[] {
    return [...this.#open.keys()];
  }

  #offer(worker: WorkerSlots): void {
    this.#list(worker);
    if (freeSlots(worker) > 0) this.#listener.onCapacity(worker.slot.endpointId);
    else if (needsRefill(worker)) this.#runsLow(worker);
  }

  /** Updates the index of open workers. Call it after every change of a worker's load, capacity or backlog. */
  #list(worker: WorkerSlots): void {
    const { endpointId } = worker.slot;
    const open = this.#open.get(endpointId);
    if (freeSlots(worker) > 0) {
      const listed = open ?? new OpenWorkers();
      if (!open) this.#open.set(endpointId, listed);
      listed.put(worker);
      return;
    }
    open?.remove(worker);
    if (open?.size === 0) this.#open.delete(endpointId);
  }

  #runsLow(worker: WorkerSlots): void {
    const { endpointId } = worker.slot;
    const others = this.#low.get(endpointId);
    if (others?.has(worker)) return;
    if (others) others.add(worker);
    else this.#low.set(endpointId, new Set([worker]));
    this.#listener.onCapacity(endpointId);
  }

  #forgetWhenUnused(worker: WorkerSlots): void {
    if (worker.sink || worker.reserved > 0 || !this.#workers.delete(worker.slot.workerId)) return;
    if (worker.shouldRun) this.#count(worker.slot.endpointId, -1);
  }

  #count(endpointId: string, change: number): void {
    const count = (this.#workersOf.get(endpointId) ?? 0) + change;
    if (count > 0) this.#workersOf.set(endpointId, count);
    else this.#workersOf.delete(endpointId);
  }
}
