/**
 * Wires the parts that carry attempts between core and workers, from the lowest layer up. Parts of a higher layer that
 * a lower one needs are built first and passed in as its port. Events of a lower layer go to listeners that are added
 * here.
 */
import { join } from 'node:path';
import type { Disk } from '@slipway/kit/host/disk';
import type { Logger } from '@slipway/kit/log/logger';
import type { Tracing } from '@slipway/kit/observe/tracing';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import { AttemptStopper } from './attempts/attempt-stopper.ts';
import type { AttemptEnd } from './attempts/attempt-table.ts';
import { AttemptTable } from './attempts/attempt-table.ts';
import { AttemptWatch } from './attempts/attempt-watch.ts';
import { ChunkLog } from './attempts/chunk-log.ts';
import { Evidence } from './attempts/evidence.ts';
import { HandOver } from './attempts/hand-over.ts';
import { Holdings } from './attempts/holding.ts';
import { Intake } from './attempts/intake.ts';
import { JobSpans } from './attempts/job-spans.ts';
import { OutcomeReporter } from './attempts/outcome-reporter.ts';
import { RunRecorder } from './attempts/run-recorder.ts';
import { WorkerCapacity } from './attempts/worker-capacity.ts';
import { WorkerReporter } from './attempts/worker-reporter.ts';
import { OpenPolls } from './bridge/open-polls.ts';
import type { WorkloadBase } from './build-workloads.ts';
import type { AgentConfig } from './config.ts';
import { LargePayloads } from './session/large-payloads.ts';
import type { Lease } from './session/lease.ts';
import { Outbox } from './session/outbox.ts';
import { OutcomeSpool } from './spool/outcome-spool.ts';
import { RunLog } from './spool/run-log.ts';
import { FreePorts } from './workloads/http/free-ports.ts';
import type { PodAddresses } from './workloads/http/pod-ports.ts';
import { PublicPorts } from './workloads/http/public-ports.ts';
import { HealthWatch } from './workloads/workers/health-watch.ts';
import type { Worker } from './workloads/workers/worker.ts';
import { WorkerLoads } from './workloads/workers/worker-loads.ts';
import { WorkerPool } from './workloads/workers/worker-pool.ts';

/** The wired parts. */
export interface AttemptParts {
  pool: WorkerPool;
  holdings: Holdings;
  spans: JobSpans;
  polls: OpenPolls;
  table: AttemptTable;
  handOver: HandOver;
  intake: Intake;
  evidence: Evidence;
  stopper: AttemptStopper;
  watch: AttemptWatch;
  chunks: ChunkLog;
  outcomes: OutcomeReporter;
  spool: OutcomeSpool;
  runLog: RunLog;
  recorder: RunRecorder;
  outbox: Outbox;
  large: LargePayloads;
  /** Reports workers to core. */
  reporter: WorkerReporter;
  /** Checks the health of workers that serve HTTP. */
  health: HealthWatch;
  /** Measures what workers use. */
  workerLoads: WorkerLoads;
  /** Addresses at which others reach the servers on this machine. */
  reach: PodAddresses;
}

/** Dependencies and options of the parts. */
interface AttemptOptions {
  config: AgentConfig;
  logger: Logger;
  clock: Clock;
  random: Random;
  workloads: Pick<WorkloadBase, 'launcher' | 'archive' | 'handover' | 'starts' | 'gpuMemory'> &
    Partial<Pick<WorkloadBase, 'onStart'>>;
  /** Counts ends of attempts. Default: they are not counted. */
  onAttemptEnd?: ((kind: OutcomeKind) => void) | undefined;
  /** Counts workers that ended because memory ran out. Default: they are not counted. */
  onOutOfMemory?: (() => void) | undefined;
  disk: Disk;
  /** The permission to run attempts. */
  lease: Pick<Lease, 'isHeld'>;
  /** Time that outcomes wait for core before they are written, in milliseconds. Default: the reporter's. */
  diskAfterMs?: number | undefined;
  /** Default: nothing is traced. */
  tracing?: Tracing | undefined;
}

/** Builds the parts and connects them. Nothing runs before the services of the agent start. */
export function buildAttempts(options: AttemptOptions): AttemptParts {
  const { config, logger, clock, random, workloads } = options;
  const records = buildRecords(options);
  const { holdings, spans, outcomes, reporter } = records;
  const ports = new FreePorts(random);
  const pool = new WorkerPool({
    ...workloads,
    ports,
    port: {
      isBusy: (workerId) => holdings.isBusy(workerId),
      recorded: () => records.runLog.written(),
      spansOf: (workerId) => spans.of(workerId),
      hasReportedEnd: (workerId) => reporter.hasReportedEnd(workerId),
    },
    clock,
    random,
    logger,
    graceMs: config.workerGraceMs,
    httpDrainMs: config.httpDrainMs,
  });
  const publicPorts = new PublicPorts(config);
  const reach = { advertiseHost: config.advertiseHost, tunnels: config.tunnelAddresses.length > 0, ports, publicPorts };
  const health = new HealthWatch({ pool, ...reach, silenceMs: config.httpSilenceMs, clock });
  const onChange = (): void => records.outbox.addGpuLoads();
  const workerLoads = new WorkerLoads({ pool, onChange, clock, random, logger });
  const parts = { ...records, pool, reach, health, workerLoads, ...buildSteps(options, records, pool) };
  listen(parts, options.onOutOfMemory);
  outcomes.listen((workerId) => {
    const worker = pool.get(workerId);
    if (worker) reporter.acknowledged(worker);
  });
  return parts;
}

/** Parts that record attempts and workers, for this run and the next, and report them to core. */
type Records = Pick<
  AttemptParts,
  | 'large'
  | 'polls'
  | 'holdings'
  | 'spans'
  | 'spool'
  | 'runLog'
  | 'recorder'
  | 'chunks'
  | 'outbox'
  | 'outcomes'
  | 'reporter'
> & { workerCapacity: WorkerCapacity };

function buildRecords({ config, logger, clock, random, disk, diskAfterMs }: AttemptOptions): Records {
  const large = new LargePayloads({ clock, random, logger });
  const polls = new OpenPolls();
  const holdings = new Holdings();
  const spans = new JobSpans(holdings, clock);
  const workerCapacity = new WorkerCapacity({ holdings, polls, clock });
  const spool = new OutcomeSpool({ folder: join(config.dataDir, 'spool'), logger, clock, disk });
  const runLog = new RunLog({ folder: config.dataDir, logger, disk });
  const recorder = new RunRecorder(runLog);
  const chunks = new ChunkLog({ stored: (key, number) => recorder.stored(key, number) });
  const outbox = new Outbox(chunks);
  const outcomes = new OutcomeReporter({ spool, chunks, toCore: outbox, large, clock, diskAfterMs, logger });
  const reporter = new WorkerReporter({
    toCore: outbox,
    workerCapacity,
    hasUnacknowledged: (workerId) => outcomes.hasUnacknowledged(workerId),
    recorder,
  });
  return { large, polls, holdings, spans, workerCapacity, spool, runLog, recorder, chunks, outbox, outcomes, reporter };
}

/** Parts that take an attempt from its arrival to its end. */
type Steps = Pick<AttemptParts, 'table' | 'handOver' | 'intake' | 'evidence' | 'stopper' | 'watch'>;

function buildSteps(
  { config, logger, clock, tracing, onAttemptEnd, lease }: AttemptOptions,
  { holdings, outcomes, chunks, recorder, polls, workerCapacity, large, reporter, outbox, spans }: Records,
  pool: WorkerPool,
): Steps {
  const onEnd: AttemptEnd = (kind, attempt) => {
    spans.ended(attempt);
    attempt.trace?.end(kind);
    onAttemptEnd?.(kind);
  };
  const table = new AttemptTable({ holdings, outcomes, chunks, recorder, clock, logger, onEnd });
  const handOver = new HandOver({ table, holdings, polls, workerCapacity, recorder, clock });
  const offer = (worker: Worker): void => {
    reporter.capacityChanged(worker);
    handOver.offer(worker);
  };
  return {
    table,
    handOver,
    intake: new Intake({ table, handOver, holdings, outcomes, pool, large, lease, tracing, clock }),
    evidence: new Evidence({ table, holdings, clock }),
    stopper: new AttemptStopper({
      table,
      holdings,
      polls,
      pool,
      outcomes,
      toCore: outbox,
      reporter,
      clock,
      logger,
      policy: config.stopPolicy,
      graceMs: config.stopGraceMs,
    }),
    watch: new AttemptWatch({ toCore: outbox, table, pool, polls, holdings, offer: offer, clock }),
  };
}

/**
 * Adds the listeners. Order matters: events of a worker go to the bridge first, whose requests end with the worker,
 * then to the attempts that it holds.
 */
function listen(
  { pool, polls, holdings, spans, table, evidence, reporter, handOver, health }: AttemptParts,
  onOutOfMemory?: () => void,
): void {
  pool.listen({
    changed: (worker) => {
      reporter.changed(worker);
      health.changed(worker);
    },
    resultLine: (worker, line) => evidence.resultLine(worker, line),
    leaving: (worker) => table.returnWaiting(worker.id, `The worker ${worker.id} takes no more jobs.`),
    stopping: (worker) => polls.empty(worker.id),
    leftRunning: (worker) => {
      holdings.of(worker.id).close();
      // Before the outcomes: core must not give it the same jobs again.
      reporter.capacityChanged(worker);
      table.returnWaiting(worker.id, 'The agent was stopped.');
      polls.empty(worker.id);
    },
    ended: (worker, cause) => {
      health.ended(worker);
      polls.empty(worker.id);
      if (worker.end.ranOutOfMemory) onOutOfMemory?.();
      table.endAllOf(worker.id, cause, worker.end.ranOutOfMemory);
    },
    forgotten: (workerId) => {
      for (const part of [polls, holdings, spans, reporter]) part.drop(workerId);
    },
  });
  table.listen((workerId) => {
    const worker = pool.get(workerId);
    if (!worker) return;
    reporter.capacityChanged(worker);
    worker.evaluateAfterAttempt();
    handOver.offer(worker);
  });
}
