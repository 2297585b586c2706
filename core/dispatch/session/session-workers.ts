/**
 * The workers of one session: what the agent reports, what is desired, and what follows for the pool. A worker takes
 * attempts only while it is READY, desired to RUN and does not ask to be replaced.
 */

import type { Logger } from '@slipway/kit/log/logger';
import { someAttempts } from '@slipway/kit/log/logger';
import type { Clock, Timer } from '@slipway/kit/time/clock';
import type { WorkerReport } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { AttemptCalls } from '../../jobs/job-engine.ts';
import type { LiveJobs } from '../../jobs/live-jobs.ts';
import type { DesiredWorkerRow, WorkerFacts } from '../../store/machines/worker-store.ts';
import { factsFromReport } from '../agent-messages.ts';
import type { WorkerReports } from '../reports/worker-reports.ts';
import type { AssignmentSink, HeldAttempt, SlotPool } from '../slot-pool.ts';

/**
 * Time after a worker's end in which its agent may report outcomes of its attempts, in milliseconds. The agent
 * normally does so at once. A result in flight must not be overtaken by the report that its worker ended.
 */
const OUTCOME_GRACE_MS = 2_000;
/** Most workers that one machine may report. */
const WORKERS_MAX = 10_000;
/** Above this many entries, endpoints of workers that ended long ago are dropped. */
const ENDPOINTS_MAX = 2 * WORKERS_MAX;

interface SessionWorkersOptions {
  machineId: string;
  sessionId: string;
  pool: SlotPool;
  reports: WorkerReports;
  attempts: Pick<AttemptCalls, 'loseAttempts'>;
  live: Pick<LiveJobs, 'isArriving'>;
  /** Called when a worker asks to be replaced. */
  onRefresh(workerId: string, machineId: string): void;
  clock: Clock;
  logger: Logger;
}

interface SessionWorker {
  facts: WorkerFacts;
  refresh: boolean;
  /** True if its open take accepts more jobs than it asked for. */
  acceptsPrefetch: boolean;
  /** True if its agent holds more jobs than its capacity. */
  agentPrefetches: boolean;
  healthy: boolean;
  /** Set once the worker has ended. Its attempts are lost when the timer fires. */
  outcomeGrace: Timer | undefined;
}

export class SessionWorkers {
  readonly #options: SessionWorkersOptions;
  readonly #sink: AssignmentSink;
  readonly #workers = new Map<string, SessionWorker>();
  /** Ended workers whose attempts were still counted: the pool keeps them until their results have arrived. */
  readonly #retired = new Set<string>();
  #isOver = false;
  #desired = new Map<string, DesiredWorkerRow['desired']>();
  /**
   * Endpoints of the machine's workers, from the database. Reports about other workers are ignored: with a foreign
   * worker id or endpoint, an agent would get jobs that it must not see.
   */
  readonly #endpointOf: Map<string, string>;

  /** `own`: workers of the hello that belong to the machine, with their endpoints. */
  constructor(sink: AssignmentSink, own: ReadonlyMap<string, string>, options: SessionWorkersOptions) {
    this.#sink = sink;
    this.#endpointOf = new Map(own);
    this.#options = options;
  }

  /** Attaches the workers of a hello, with the attempts that the agent holds. */
  begin(reports: readonly WorkerReport[], held: readonly HeldAttempt[]): void {
    const named = new Set([...reports, ...held].map(({ workerId }) => workerId));
    for (const workerId of named)
      this.#attach(
        workerId,
        held.filter((attempt) => attempt.workerId === workerId),
      );
    this.report(reports, named);
    // Workers of an earlier run of the agent: only their results remain.
    for (const workerId of named) if (!this.#workers.has(workerId)) this.#retire(workerId);
  }

  /** Handles changed workers. `attached`: ids of workers that are already in the pool. */
  report(reports: readonly WorkerReport[], attached?: ReadonlySet<string>): void {
    for (const report of reports) {
      const facts = factsFromReport(report);
      const known = this.#workers.get(report.workerId);
      if (!facts || !this.#endpointOf.has(report.workerId) || (!known && this.#workers.size >= WORKERS_MAX)) continue;
      if (!known && !attached?.has(report.workerId)) this.#attach(report.workerId, []);
      const worker = known ?? {
        facts,
        refresh: false,
        acceptsPrefetch: false,
        agentPrefetches: false,
        healthy: false,
        outcomeGrace: undefined,
      };
      this.#workers.set(report.workerId, worker);
      worker.acceptsPrefetch = report.takesAhead;
      worker.agentPrefetches = report.keepsAhead;
      this.#observe(worker, facts, report.refresh, known === undefined);
    }
  }

  /** Sets the desired workers of the machine. */
  desire(rows: readonly DesiredWorkerRow[]): void {
    this.#desired = new Map(rows.map((row) => [row.id, row.desired]));
    for (const { id, endpointId } of rows) this.#endpointOf.set(id, endpointId);
    if (this.#endpointOf.size > ENDPOINTS_MAX) {
      for (const id of this.#endpointOf.keys())
        if (!this.#desired.has(id) && !this.#workers.has(id)) this.#endpointOf.delete(id);
    }
    for (const worker of this.#workers.values()) this.#offer(worker);
  }

  /** Fences all workers: the lease may have ended for a while, and claims from before that must not be sent. */
  fence(): void {
    // A reply that comes after the end: the next session may have the workers by now, in other states.
    if (this.#isOver) return;
    for (const [workerId, worker] of this.#workers) {
      this.#options.pool.fence(workerId);
      this.#offer(worker);
    }
  }

  /** Fences the workers of an endpoint: one of its claims in flight must not be sent. */
  fenceClaims(endpointId: string): void {
    for (const workerId of this.#workers.keys())
      if (this.#endpointOf.get(workerId) === endpointId) this.#options.pool.fence(workerId);
  }

  /** Records that a worker finished an attempt. */
  healthy(workerId: string): void {
    const worker = this.#workers.get(workerId);
    if (!worker) return;
    if (worker.healthy) this.#options.reports.used(workerId);
    else this.#options.reports.healthy(workerId);
    worker.healthy = true;
  }

  /** Removes the workers from the pool at the end of the session. */
  end(): void {
    this.#isOver = true;
    for (const [workerId, worker] of this.#workers) {
      worker.outcomeGrace?.cancel();
      this.#options.pool.detach(workerId, this.#sink);
    }
    for (const workerId of this.#retired) this.#options.pool.detach(workerId, this.#sink);
  }

  /** Returns the workers that the session knows. */
  ids(): string[] {
    return [...this.#workers.keys()];
  }

  #attach(workerId: string, held: readonly HeldAttempt[]): void {
    const { pool, machineId } = this.#options;
    const endpointId = this.#endpointOf.get(workerId);
    if (endpointId !== undefined) pool.attach({ workerId, endpointId, machineId }, this.#sink, held);
  }

  #observe(worker: SessionWorker, facts: WorkerFacts, refresh: boolean, fresh: boolean): void {
    const { reports, machineId, sessionId, onRefresh } = this.#options;
    // Only the first end counts; the later removal of its files is no news.
    if (worker.outcomeGrace) return;
    const before = worker.facts;
    // Start-up details and the reason of an unready server change up to once a second, and only people read them.
    const sameReason = before.reason === facts.reason || !hasEnded(facts);
    const same =
      !fresh &&
      before.state === facts.state &&
      sameReason &&
      before.sdkVersion === facts.sdkVersion &&
      before.address === facts.address &&
      before.health === facts.health &&
      before.singleUse === facts.singleUse &&
      (before.blocked ?? false) === (facts.blocked ?? false) &&
      before.standbyReached === facts.standbyReached &&
      before.lastOffload?.ms === facts.lastOffload?.ms &&
      before.lastRestore?.ms === facts.lastRestore?.ms;
    worker.facts = facts;
    if (!same) reports.changed({ machineId, sessionId }, facts);
    else if (isDetail(before, facts)) reports.detailChanged({ machineId, sessionId }, facts);
    if (refresh && !worker.refresh) onRefresh(facts.workerId, machineId);
    worker.refresh = refresh;
    this.#offer(worker);
    if (hasEnded(facts)) this.#ended(worker);
  }

  #offer(worker: SessionWorker): void {
    const { facts, refresh } = worker;
    const desired = this.#desired.get(facts.workerId);
    const open = facts.state === 'READY' && !refresh && desired === 'RUN';
    const shouldRun = !hasEnded(facts) && (desired === undefined || desired === 'RUN');
    this.#options.pool.update(facts.workerId, {
      capacity: facts.capacity,
      open,
      shouldRun,
      acceptsPrefetch: worker.acceptsPrefetch,
      agentPrefetches: worker.agentPrefetches,
    });
  }

  #ended(worker: SessionWorker): void {
    worker.outcomeGrace ??= this.#options.clock.after(OUTCOME_GRACE_MS, () => {
      void this.#lose(worker);
    });
  }

  /** Never rejects. If it fails, the next audit of the machine's attempts finds them. */
  async #lose({ facts: { workerId, reason } }: SessionWorker): Promise<void> {
    const { pool, attempts, live, machineId, logger } = this.#options;
    const left = pool.heldBy(workerId);
    const kept = left.filter((attempt) => live.isArriving(attempt));
    try {
      if (left.length > kept.length)
        await attempts.loseAttempts({ machineId, workerId }, kept, reason || 'its worker ended');
    } catch (error) {
      logger.warn(
        { err: error, machineId, workerId, ...someAttempts(left) },
        'attempts of an ended worker were not written as lost',
      );
    }
    for (const attempt of left) if (!kept.includes(attempt)) pool.release(attempt);
    this.#workers.delete(workerId);
    this.#retire(workerId);
  }

  #retire(workerId: string): void {
    const { pool } = this.#options;
    pool.retire(workerId, this.#sink);
    this.#retired.add(workerId);
    for (const id of this.#retired) if (pool.heldBy(id).length === 0) this.#retired.delete(id);
  }
}

/** Returns whether its capacity, its start-up detail or its GPU memory changed. */
function isDetail(before: WorkerFacts, facts: WorkerFacts): boolean {
  return (
    before.capacity !== facts.capacity ||
    before.reason !== facts.reason ||
    before.gpuMemoryBytes !== facts.gpuMemoryBytes
  );
}

function hasEnded({ state }: WorkerFacts): boolean {
  return state === 'STOPPED' || state === 'UNHEALTHY';
}
