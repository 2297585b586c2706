/**
 * Estimates for each endpoint whether its queue may hold jobs, and the position up to which this replica has claimed.
 * A wrong estimate costs only time: earlier positions are scanned again after a notice, and periodically.
 */
import type { Clock } from '@slipway/kit/time/clock';

/** The positions to claim from. */
export interface ClaimPlan {
  afterNormal: number;
  afterLow: number;
  /** True if the scan starts at the beginning of the queue. */
  full: boolean;
  /** Version of the estimate when the plan was made. */
  version: number;
}

/** The result of a claim. */
interface ClaimResult {
  /** Number of jobs that the claim asked for. */
  asked: number;
  claims: readonly { position: number; lowPriority: boolean }[];
  /** Duration in milliseconds. */
  tookMs: number;
}

interface Cursor {
  normal: number;
  low: number;
  maybeQueued: boolean;
  version: number;
  /**
   * Jobs queued here less jobs claimed here since the queue was last seen empty; 0 means that no job queued here can
   * wait.
   */
  count: number;
  /** Claims in flight, and the lowest position queued since the first of them began. */
  claiming: number;
  raised: number;
  fullDueAtMs: number;
  /** Lowest position queued here that was not published to other replicas yet. */
  unreported: number | undefined;
  /** When dispatch last asked for jobs, in monotonic milliseconds. */
  wantedAtMs: number;
}

/** Least time between two full scans, in milliseconds. */
const FULL_PERIOD_MS = 1_000;
/** Largest share of time that full scans may take when they are slow. */
const FULL_SHARE = 0.02;
/** An endpoint without a claim for this many milliseconds is no longer watched. */
const WATCH_MS = 60_000;

export class QueueCursors {
  readonly #clock: Clock;
  readonly #cursors = new Map<string, Cursor>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records that `count` jobs were queued here, the first at `position`. */
  queued(endpointId: string, position: number, count: number): void {
    const cursor = this.#raise(endpointId, position);
    cursor.count += count;
    cursor.unreported = Math.min(cursor.unreported ?? position, position);
  }

  /** Records that another replica queued jobs, the first at `position`. */
  learnPosition(endpointId: string, position: number): void {
    // Their number is unknown, so the count alone cannot show when all are claimed.
    this.#raise(endpointId, position).count += 1;
  }

  /** Returns and resets the lowest position queued here since the last call; 0 means scan from the start. */
  takeUnreported(endpointId: string): number {
    const cursor = this.#cursors.get(endpointId);
    const position = cursor?.unreported ?? 0;
    if (cursor) cursor.unreported = undefined;
    return position;
  }

  /** Returns whether jobs may wait in this queue. */
  maybeQueued(endpointId: string): boolean {
    return this.#cursor(endpointId).maybeQueued;
  }

  /** Returns whether jobs may wait in this queue, and records that dispatch has free slots for them. */
  wanted(endpointId: string): boolean {
    const cursor = this.#cursor(endpointId);
    cursor.wantedAtMs = this.#clock.monotonicMs();
    return cursor.maybeQueued;
  }

  /** Returns where to claim from; `undefined` if the queue seems empty. Every plan must be followed by `learn`. */
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

  /** Updates the estimate from a claim; a failed claim passes `asked` 0. */
  learn(endpointId: string, plan: ClaimPlan, finding: ClaimResult): void {
    const cursor = this.#cursor(endpointId);
    cursor.claiming -= 1;
    cursor.count -= finding.claims.length;
    for (const claim of finding.claims) {
      // Jobs queued while the claim ran may lie before the position that it reached.
      const reached = Math.min(claim.position, cursor.raised - 1);
      if (claim.lowPriority) cursor.low = Math.max(reached, 0);
      else cursor.normal = Math.max(reached, 0);
    }
    if (plan.full)
      cursor.fullDueAtMs = this.#clock.monotonicMs() + Math.max(FULL_PERIOD_MS, finding.tookMs / FULL_SHARE);
    if (finding.claims.length >= finding.asked) return;
    if (cursor.version === plan.version) cursor.count = 0;
    if (cursor.count <= 0) cursor.maybeQueued = false;
  }

  /** Returns endpoints that seem empty and that dispatch has asked for lately. */
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

  /** Records that the database has queued jobs after all. */
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
      // A new replica scans once: jobs may wait since before it started.
      cursor = {
        normal: 0,
        low: 0,
        maybeQueued: true,
        version: 0,
        count: 1,
        claiming: 0,
        raised: Infinity,
        fullDueAtMs: 0,
        unreported: undefined,
        wantedAtMs: this.#clock.monotonicMs(),
      };
      this.#cursors.set(endpointId, cursor);
    }
    return cursor;
  }
}
