/**
 * What this replica knows of each endpoint's queue: whether there may be jobs in it, and up to which position it has claimed. All of it is
 * a guess that costs nothing: positions before a place are looked at again when somebody says so, and from time to time anyway.
 */
import type { Clock } from '../runtime/clock.ts';

/** From where to claim. */
export interface ClaimPlan {
  afterNormal: number;
  afterLow: number;
  /** The scan starts at the beginning. */
  full: boolean;
  /** State of the guess when the plan was made. */
  version: number;
}

/** What a claim found. */
export interface ClaimFinding {
  /** How many jobs were asked for. */
  asked: number;
  claims: readonly { position: number; lowPriority: boolean }[];
  /** How long it took in milliseconds. */
  tookMs: number;
}

interface Cursor {
  normal: number;
  low: number;
  maybeQueued: boolean;
  version: number;
  /** Jobs queued here less jobs claimed here, since the queue was last seen empty: when it is 0, nothing of ours can wait. */
  count: number;
  /** Claims that run, and the lowest position that was queued since the first of them began. */
  claiming: number;
  raised: number;
  fullDueAtMs: number;
  /** Lowest position queued here that other replicas have not been told of. */
  unreported: number | undefined;
  /** When dispatch last asked for jobs. */
  wantedAtMs: number;
}

/** A full scan is made at most this often, in milliseconds, … */
const FULL_PERIOD_MS = 1_000;
/** … and takes at most this share of the time when it is slow. */
const FULL_SHARE = 0.02;
/** An endpoint that nobody asked about for this many milliseconds is no longer watched. */
const WATCH_MS = 60_000;

export class QueueCursors {
  readonly #clock: Clock;
  readonly #cursors = new Map<string, Cursor>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `count` jobs were queued here, the first of them at `position`. */
  queued(endpointId: string, position: number, count: number): void {
    const cursor = this.#raise(endpointId, position);
    cursor.count += count;
    cursor.unreported = Math.min(cursor.unreported ?? position, position);
  }

  /** Another replica says that jobs were queued, the first of them at `position`. */
  learnPosition(endpointId: string, position: number): void {
    // How many they are is not known, so the count alone will not tell when all are claimed.
    this.#raise(endpointId, position).count += 1;
  }

  /** The lowest position queued here since this was asked last; 0 = look from the start. */
  takeUnreported(endpointId: string): number {
    const cursor = this.#cursors.get(endpointId);
    const position = cursor?.unreported ?? 0;
    if (cursor) cursor.unreported = undefined;
    return position;
  }

  /** Whether jobs may wait in this queue. */
  maybeQueued(endpointId: string): boolean {
    return this.#cursor(endpointId).maybeQueued;
  }

  /** From where to claim; undefined when there is nothing to claim as far as is known. Every plan is followed by `learn`. */
  plan(endpointId: string): ClaimPlan | undefined {
    const cursor = this.#cursor(endpointId);
    const nowMs = this.#clock.monotonicMs();
    cursor.wantedAtMs = nowMs;
    if (!cursor.maybeQueued) return undefined;
    if (cursor.claiming === 0) cursor.raised = Infinity;
    cursor.claiming += 1;
    const full = nowMs >= cursor.fullDueAtMs;
    return { afterNormal: full ? 0 : cursor.normal, afterLow: full ? 0 : cursor.low, full, version: cursor.version };
  }

  /** Learns from a claim; from one that failed with `asked` 0. */
  learn(endpointId: string, plan: ClaimPlan, finding: ClaimFinding): void {
    const cursor = this.#cursor(endpointId);
    cursor.claiming -= 1;
    cursor.count -= finding.claims.length;
    for (const claim of finding.claims) {
      // What was queued while the claim ran may lie before the place it has reached.
      const reached = Math.min(claim.position, cursor.raised - 1);
      if (claim.lowPriority) cursor.low = Math.max(reached, 0);
      else cursor.normal = Math.max(reached, 0);
    }
    if (plan.full) cursor.fullDueAtMs = this.#clock.monotonicMs() + Math.max(FULL_PERIOD_MS, finding.tookMs / FULL_SHARE);
    if (finding.claims.length >= finding.asked) return;
    if (cursor.version === plan.version) cursor.count = 0;
    if (cursor.count <= 0) cursor.maybeQueued = false;
  }

  /** Endpoints that are believed empty and that dispatch has asked about lately. */
  watched(): string[] {
    const nowMs = this.#clock.monotonicMs();
    const watched: string[] = [];
    for (const [endpointId, cursor] of this.#cursors) {
      if (cursor.maybeQueued || cursor.claiming > 0) continue;
      if (nowMs - cursor.wantedAtMs > WATCH_MS) this.#cursors.delete(endpointId);
      else watched.push(endpointId);
    }
    return watched;
  }

  /** The database says that there are queued jobs after all. */
  correct(endpointId: string): void {
    this.#raise(endpointId, 0).fullDueAtMs = 0;
  }

  #raise(endpointId: string, position: number): Cursor {
    const cursor = this.#cursor(endpointId);
    cursor.maybeQueued = true;
    cursor.version += 1;
    cursor.raised = Math.min(cursor.raised, position);
    cursor.normal = Math.min(cursor.normal, Math.max(position - 1, 0));
    cursor.low = Math.min(cursor.low, Math.max(position - 1, 0));
    return cursor;
  }

  #cursor(endpointId: string): Cursor {
    let cursor = this.#cursors.get(endpointId);
    if (!cursor) {
      // A new replica must look once: jobs may wait since before it started.
      cursor = {
        normal: 0, low: 0, maybeQueued: true, version: 0, count: 1, claiming: 0, raised: Infinity, fullDueAtMs: 0, unreported: undefined,
        wantedAtMs: this.#clock.monotonicMs(),
      };
      this.#cursors.set(endpointId, cursor);
    }
    return cursor;
  }
}
