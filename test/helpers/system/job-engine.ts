/** Job engines for tests: one database, any number of replicas on it, and workers that exist only as free slots. */
import { randomBytes } from 'node:crypto';
import { buildJobEngine } from '@slipway/core/build-job-engine';
import { ExecutionTimes } from '@slipway/core/dispatch/reports/execution-times';
import type { MachineAttempt } from '@slipway/core/domain/jobs/job';
import { CannotRun } from '@slipway/core/endpoints/cannot-run';
import { CoreEvents } from '@slipway/core/events/core-events';
import { SingletonTaskRegistry } from '@slipway/core/events/singleton-task-registry';
import type { JobEngine } from '@slipway/core/jobs/job-engine';
import { LiveJobs } from '@slipway/core/jobs/live-jobs';
import { WaitStopper } from '@slipway/core/jobs/read/wait-stopper';
import type { AttemptOutcome } from '@slipway/core/jobs/record/attempt-report';
import type { ClaimedJob, Slot, SlotSource } from '@slipway/core/jobs/slots';
import type { Submission } from '@slipway/core/jobs/submit/submission';
import type { Database } from '@slipway/core/store/sql/database';
import { openDatabase } from '@slipway/core/store/sql/database';
import { migrate } from '@slipway/core/store/sql/migrate';
import { NoticeChannel } from '@slipway/core/store/sql/notice-channel';
import type { Stores } from '@slipway/core/store/storage';
import { makeStores } from '@slipway/core/store/storage';
import { Sealer } from '@slipway/kit/host/seal';
import { startAll, stopAll } from '@slipway/kit/lifecycle/service';
import { createLogger } from '@slipway/kit/log/logger';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import type { Test } from 'tap';
import { createDatabase } from '../db/database.ts';

export const logger = createLogger('test', process.env.SLIPWAY_LOG_LEVEL ?? 'silent');

/** Machines that exist in every test and keep their lease. */
export const LIVE_MACHINES = ['machine00001', 'machine00002'] as const;

/** Slots on a worker, to claim for. */
export function slotsOn(
  endpointId: string,
  count: number,
  workerId = 'worker00000001',
  machineId: string = LIVE_MACHINES[0],
): Slot[] {
  return Array.from({ length: count }, () => ({ endpointId, workerId, machineId }));
}

/** Free slots by endpoint. Records assignments and passes them to `onAssign`. */
export class TestSlots implements SlotSource {
  readonly free = new Map<string, Slot[]>();
  readonly assigned: ClaimedJob[] = [];
  onAssign: (job: ClaimedJob) => void = () => undefined;

  /** Adds free slots on a worker. */
  add(endpointId: string, count: number, workerId?: string, machineId?: string): void {
    this.unreserve(slotsOn(endpointId, count, workerId, machineId));
  }

  reserve(endpointId: string, count: number): Slot[] {
    return this.free.get(endpointId)?.splice(0, count) ?? [];
  }

  unreserve(slots: readonly Slot[]): void {
    for (const slot of slots) this.free.set(slot.endpointId, [...(this.free.get(slot.endpointId) ?? []), slot]);
  }

  assign(jobs: readonly ClaimedJob[]): void {
    this.assigned.push(...jobs);
    for (const job of jobs) this.onAssign(job);
  }
}

/** One replica. */
export interface Replica {
  database: Database;
  stores: Stores;
  events: CoreEvents;
  /** Jobs that concern this replica right now. */
  live: LiveJobs;
  slots: TestSlots;
  /** Execution times, as agents report them. */
  times: ExecutionTimes;
  engine: JobEngine;
  stop(): Promise<void>;
}

/** Options of the engines. */
export interface EngineOptions {
  /** Number of replicas. Default: 1. */
  replicas?: number;
  /** Leaves the services stopped. Default: false. */
  idle?: boolean;
  webhookAllowPrivate?: boolean;
  /** Time in milliseconds after which an early run is stored without its outcome. Default: that of core. */
  lateMs?: number;
}

export type Engines = Awaited<ReturnType<typeof startEngines>>;

/** Makes a database and starts replicas on it. Everything ends with the test. */
export async function startEngines(t: Test, options: EngineOptions = {}) {
  const { url } = await createDatabase(t);
  await migrate({ url }, logger);
  const sealer = new Sealer(randomBytes(32).toString('hex'));
  const replicas: Replica[] = [];
  for (let i = 0; i < (options.replicas ?? 1); i += 1) replicas.push(await startReplica(t, url, sealer, options));
  const [first] = replicas;
  const { sql } = first!.database;
  await sql`INSERT INTO account (id, name) VALUES ('account', 'account')`;
  await sql`INSERT INTO template (id, account_id, name) VALUES ('template', 'account', 'template')`;
  for (const id of LIVE_MACHINES)
    await sql`INSERT INTO machine (id, name, lease_expires_at) VALUES (${id}, ${id}, now() + interval '1 day')`;

  /** Adds an endpoint; `fields` are columns. Returns its id. */
  const endpoint = async (fields: Record<string, unknown> = {}): Promise<string> => {
    const id = systemRandom.id(14);
    const row = { id, account_id: 'account', name: id, template_id: 'template', ...fields };
    await sql`INSERT INTO endpoint ${sql(row)}`;
    return id;
  };
  /** Adds a machine with a lease of `leaseMs` milliseconds. Returns its id. */
  const machine = async (leaseMs: number): Promise<string> => {
    const id = systemRandom.id(12);
    await sql`INSERT INTO machine (id, name, lease_expires_at)
      VALUES (${id}, ${id}, now() + ${leaseMs}::int * interval '1 ms')`;
    return id;
  };
  return { ...first!, url, sql, sealer, replicas, endpoint, machine };
}

async function startReplica(t: Test, url: string, sealer: Sealer, options: EngineOptions): Promise<Replica> {
  const database = openDatabase(url, { logger, connectionsMax: 4, hotConnectionsMax: 4 });
  const stores = makeStores(database, sealer);
  const events = new CoreEvents();
  const live = new LiveJobs();
  const slots = new TestSlots();
  const times = new ExecutionTimes();
  const engine = buildJobEngine({
    stores,
    cannotRun: new CannotRun(stores, systemClock),
    openChannel: (channel) => new NoticeChannel({ url, answers: database.answers, ...channel }),
    events,
    singletonTasks: new SingletonTaskRegistry(),
    live,
    slots,
    times,
    lateMs: options.lateMs,
    sealer,
    clock: systemClock,
    random: systemRandom,
    logger,
    config: { webhookAllowPrivate: options.webhookAllowPrivate ?? true },
  });
  if (!options.idle) await startAll(engine.services, logger);
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopped ??= stopAll(engine.services, logger).then(() => database.close());
    return stopped;
  };
  t.teardown(stop);
  return { database, stores, events, live, slots, times, engine, stop };
}

/** Returns a submission; `more` replaces fields. */
export function submission(endpointId: string, more: Partial<Submission> = {}): Submission {
  return {
    endpointId,
    requestId: '',
    kind: 'ASYNC',
    input: Buffer.from('{"a":1}'),
    webhook: '',
    policy: {},
    s3Config: undefined,
    waitMs: 90_000,
    idempotencyKey: '',
    ...more,
  };
}

/** Returns an outcome of a claimed job; `more` replaces fields. */
export function outcome(job: MachineAttempt, more: Partial<AttemptOutcome> = {}): AttemptOutcome {
  const { endpointId, jobId, attempt, machineId } = job;
  return {
    endpointId,
    jobId,
    attempt,
    machineId,
    kind: 'COMPLETED',
    output: Buffer.from('{"b":2}'),
    error: '',
    ...more,
  };
}

/** A stopper that never stops a wait. */
export const never = new WaitStopper();

/** Submits one job and claims it. */
export async function runningJob(
  engines: Pick<Engines, 'engine'>,
  endpointId: string,
  more: Partial<Submission> = {},
  machineId?: string,
) {
  const { id } = await engines.engine.calls.submit(submission(endpointId, more));
  const [claimed] = await engines.engine.attempts.claim(endpointId, slotsOn(endpointId, 1, undefined, machineId));
  if (claimed?.jobId !== id) throw new Error('another job was claimed');
  return claimed;
}

/** Checks that work is rejected for a reason. */
export async function refused(t: Test, work: Promise<unknown>, reason: string, name = reason): Promise<void> {
  const error: unknown = await work.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  t.equal((error as { reason?: string } | undefined)?.reason, reason, name);
}
