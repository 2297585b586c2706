/** Wires the parts that carry attempts between core and workers. */
import { join } from 'node:path';
import type { Clock, Random } from '../core/runtime/clock.ts';
import type { Logger } from '../core/runtime/logger.ts';
import { OutcomeKind } from '../proto/gen/slipway/v1/agent_service.ts';
import { WorkerState } from '../proto/gen/slipway/v1/machine.ts';
import type { AgentConfig } from './config.ts';
import { LargePayloads } from './session/large-payloads.ts';
import { Lease } from './session/lease.ts';
import { Outbox } from './session/outbox.ts';
import type { Disk } from './spool/journal.ts';
import { OutcomeSpool } from './spool/outcome-spool.ts';
import { WorkerPool } from './units/workers/worker-pool.ts';
import { WorkerReporter } from './attempts/worker-reporter.ts';
import type { WorkerStarter } from './units/workers/worker-starter.ts';
import type { Worker } from './units/workers/worker.ts';
import { AttemptStopper } from './attempts/attempt-stopper.ts';
import { AttemptTable } from './attempts/attempt-table.ts';
import { AttemptWatch } from './attempts/attempt-watch.ts';
import { ChunkLog } from './attempts/chunk-log.ts';
import { Evidence } from './attempts/evidence.ts';
import { HandOver } from './attempts/hand-over.ts';
import { Intake } from './attempts/intake.ts';
import { OutcomeReporter } from './attempts/outcome-reporter.ts';

/** The wired parts. */
export interface AttemptParts {
  pool: WorkerPool;
  table: AttemptTable;
  handOver: HandOver;
  intake: Intake;
  evidence: Evidence;
  stopper: AttemptStopper;
  watch: AttemptWatch;
  chunks: ChunkLog;
  outcomeReporter: OutcomeReporter;
  spool: OutcomeSpool;
  outbox: Outbox;
  large: LargePayloads;
  lease: Lease;
  /** Reports workers. */
  reporter: WorkerReporter;
}

/** Builds them. */
export function buildAttempts(options: {
  config: AgentConfig;
  logger: Logger;
  clock: Clock;
  random: Random;
  starter: WorkerStarter;
  disk?: Disk | undefined;
}): AttemptParts {
  const { config, logger, clock, random, starter, disk } = options;
  const pool = new WorkerPool({ starter, clock, random, logger, terminateGraceMs: config.workerGraceMs });
  const workerOf = (id: string): Worker | undefined => pool.get(id);
  const outbox: Outbox = new Outbox((id) => {
    const worker = pool.get(id);
    return worker && reporter.take(worker);
  });
  const chunks = new ChunkLog({ send: (chunk) => outbox.addChunk(chunk) });
  const spool = new OutcomeSpool({ folder: join(config.dataDir, 'spool'), logger, clock, disk });
  const large = new LargePayloads({ clock, random, logger });
  const routes = { sendSmall: outbox.addOutcome.bind(outbox), sendLarge: (key: string) => large.send(key) };
  const outcomeReporter = new OutcomeReporter({ spool, chunks, routes, logger });
  const reporter = new WorkerReporter({ outbox, owes: (workerId) => outcomeReporter.owes(workerId) });
  large.outcomes = {
    load: (key) => outcomeReporter.load(key),
    isReady: (key) => chunks.unacknowledged(key).length === 0,
    acknowledge: (ref) => outcomeReporter.acknowledge(ref),
  };
  const table = new AttemptTable({ workerOf, reporter: outcomeReporter, chunks, logger });
  const handOver = new HandOver({ table, clock });
  const intake = new Intake({ table, handOver, reporter: outcomeReporter, workerOf, fetchInput: (ref) => large.fetchInput(ref), clock });
  const evidence = new Evidence({ table, clock });
  const stopper = new AttemptStopper({
    table, pool, reporter: outcomeReporter, outbox, workers: reporter, clock, policy: config.stopPolicy, graceMs: config.stopGraceMs,
  });
  const watch = new AttemptWatch({ table, workerOf, clock });
  const lease = new Lease({ clock, onExpired: () => endAll(table, pool, logger) });
  connect({ table, pool, reporter, handOver, outcomeReporter });
  return { pool, table, handOver, intake, evidence, stopper, watch, chunks, outcomeReporter, spool, outbox, large, lease, reporter };
}

type Connected = Pick<AttemptParts, 'table' | 'pool' | 'reporter' | 'handOver' | 'outcomeReporter'>;

function connect({ table, pool, reporter, handOver, outcomeReporter }: Connected): void {
  pool.listener = {
    changed: (worker) => reporter.changed(worker),
    leaving: (worker) => table.returnWaiting(worker, `The worker ${worker.id} takes no more jobs.`),
    ended: (worker, cause) => table.endAllOf(worker, cause),
  };
  outcomeReporter.onSettled = (workerId) => {
    const worker = pool.get(workerId);
    if (worker) reporter.settled(worker);
  };
  table.onEnded = (worker) => {
    reporter.capacityChanged(worker);
    pool.settle(worker);
    handOver.offer(worker);
  };
}

/** Core could not be reached for as long as the lease lasts: it may give every attempt away now, so none may go on here. */
function endAll(table: AttemptTable, pool: WorkerPool, logger: Logger): void {
  const reason = 'The agent could not reach core for as long as its lease lasts.';
  if (table.size > 0) logger.error({ attempts: table.size }, 'lease ran out, ending all attempts');
  for (const attempt of table.all()) {
    const worker = pool.get(attempt.ref.workerId);
    const wasHanded = attempt.phase === 'handed';
    void table.end(attempt, wasHanded ? OutcomeKind.LOST : OutcomeKind.RETURNED, { error: reason });
    if (worker && wasHanded) pool.kill(worker, { state: WorkerState.STOPPED, reason });
  }
}
