/**
 * Compares, every two seconds, the attempts that the job table assigns to this replica's machines with those that the
 * sessions hold. They differ after a claim whose reply was lost (the database restarted), a claim of a fenced
 * session, or an assignment that its session could not send. Only a difference seen in two passes counts, because
 * claims and outcomes are always in flight. Elapsed time alone never ends an attempt: the holder itself reports that
 * it does not hold it.
 */

import type { ActivityMonitor } from '@slipway/kit/lifecycle/activity';
import { REST_MS } from '@slipway/kit/lifecycle/activity';
import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { AttemptCalls } from '../jobs/job-engine.ts';
import type { LiveJobs } from '../jobs/live-jobs.ts';
import type { CurrentAttempt } from '../store/jobs/running-jobs.ts';
import type { Stores } from '../store/storage.ts';
import type { LiveSession } from './live-session.ts';
import type { SessionTable } from './session-table.ts';
import type { SlotPool } from './slot-pool.ts';
import { attemptId } from './slot-pool.ts';

const PERIOD_MS = 2_000;

interface AttemptAuditOptions {
  table: SessionTable;
  pool: SlotPool;
  workers: Pick<Stores['workers'], 'ownsMachine'>;
  running: Pick<Stores['running'], 'onMachines' | 'current'>;
  attempts: Pick<AttemptCalls, 'recordOutcome'>;
  live: Pick<LiveJobs, 'attempt'>;
  /** Default: it never rests. */
  activity?: ActivityMonitor | undefined;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class AttemptAudit extends LoopService {
  readonly #options: AttemptAuditOptions;
  /** Findings of the previous pass: attempt and session. */
  #suspects = new Set<string>();

  constructor(options: AttemptAuditOptions) {
    super({ ...options, name: 'attempt audit', periodMs: PERIOD_MS, restMs: REST_MS });
    this.#options = options;
  }

  protected override pass(): Promise<void> {
    return this.auditOnce();
  }

  /** Checks all open sessions once. */
  async auditOnce(): Promise<void> {
    const sessions = this.#options.table.all().filter((session) => session.isOpen);
    if (sessions.length === 0) return;
    const current = await this.#options.running.onMachines(sessions.map((session) => session.machineId));
    const byMachine = Map.groupBy(current, (attempt) => attempt.machineId);
    const suspects = new Set<string>();
    for (const session of sessions) {
      const attempts = byMachine.get(session.machineId) ?? [];
      await this.#giveBack(session, attempts, suspects);
      await this.#stopStale(session, new Set(attempts.map(attemptId)), suspects);
    }
    this.#suspects = suspects;
  }

  /** Queues attempts again that no session holds; no worker has seen them. */
  async #giveBack(session: LiveSession, attempts: readonly CurrentAttempt[], suspects: Set<string>): Promise<void> {
    const { workers, pool, live, logger } = this.#options;
    const { id: sessionId, machineId } = session;
    const isSuspect = (attempt: CurrentAttempt): boolean => this.#suspects.has(`${sessionId} ${attemptId(attempt)}`);
    // The agent may have left this session without a word: what is missing here then runs under its next one.
    if (attempts.some(isSuspect) && !(await workers.ownsMachine({ machineId, sessionId }))) return;
    for (const attempt of attempts) {
      if (live.attempt(attempt)) continue;
      suspects.add(`${sessionId} ${attemptId(attempt)}`);
      if (!isSuspect(attempt)) continue;
      // The reply of its claim may still come.
      pool.fence(attempt.workerId);
      const { endpointId, jobId, attempt: number, workerId } = attempt;
      logger.warn(
        { endpointId, jobId, attempt: number, workerId, machineId },
        'claimed job did not reach its worker, queued again',
      );
      const outcome = {
        endpointId,
        jobId,
        attempt: number,
        machineId,
        kind: 'RETURNED',
        output: undefined,
        error: '',
      } as const;
      await this.#options.attempts.recordOutcome(outcome);
    }
  }

  /** Stops attempts that are held and not current, until the agent reports their end. */
  async #stopStale(session: LiveSession, current: ReadonlySet<string>, suspects: Set<string>): Promise<void> {
    const { pool, running } = this.#options;
    const missing = session
      .workerIds()
      .flatMap((workerId) => pool.heldBy(workerId))
      .filter((attempt) => !current.has(attemptId(attempt)));
    for (const attempt of missing) suspects.add(`${session.id} ${attemptId(attempt)}`);
    const again = missing.filter((attempt) => this.#suspects.has(`${session.id} ${attemptId(attempt)}`));
    const kept = new Set((await running.current(again)).map(attemptId));
    for (const attempt of again) {
      if (!kept.has(attemptId(attempt))) session.stopAttempt(attempt, 'its job is final, gone or runs elsewhere');
    }
  }
}
