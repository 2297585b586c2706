/**
 * One agent connection, from its hello to its end. Any failure ends the whole session, and the agent reconnects with
 * its full state. Messages are handled in order of arrival.
 */

import type {
  DesiredWorkers,
  Hello,
  SessionRequest,
  WorkerLogRequest,
} from '@slipway/proto/gen/slipway/v1/agent_service';
import { SessionEndReason } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { AttemptKey } from '../../domain/jobs/job.ts';
import type { ClaimedJob } from '../../jobs/slots.ts';
import type { DesiredWorkerRow } from '../../store/machines/worker-store.ts';
import { heldFromRefs, machineFromMessage, refOf } from '../agent-messages.ts';
import type { LiveSession, SessionKey } from '../live-session.ts';
import { loadsFromMessage } from '../reports/gpu-load-messages.ts';
import { SessionOutbox } from '../session-outbox.ts';
import type { AssignmentSink, HeldAttempt } from '../slot-pool.ts';
import { attemptId } from '../slot-pool.ts';
import { enterMachine, instanceOf, leaveMachine, missingFrom } from './enter-machine.ts';
import { reportMachine } from './machine-report.ts';
import { openAssignment } from './open-assignment.ts';
import { PrefetchRevoker } from './prefetch-revoker.ts';
import type { SessionContext, SessionStream } from './session-context.ts';
import { SessionHeartbeat, WELCOME_TIMES } from './session-heartbeat.ts';
import { SessionInbox } from './session-inbox.ts';
import { SessionWorkers } from './session-workers.ts';

const OTHER_SESSION = 'another session owns the machine';

export class Session implements AssignmentSink, LiveSession {
  readonly id: string;
  readonly #context: SessionContext;
  readonly #stream: SessionStream;
  readonly #key: SessionKey;
  readonly #outbox: SessionOutbox;
  readonly #inbox: SessionInbox;
  readonly #heartbeat: SessionHeartbeat;
  #workers: SessionWorkers | undefined;
  #machineId = '';
  #instance = '';
  #prefetches = false;
  /** True if its agent supports revoking prefetched jobs. */
  #canRevoke = false;
  #lastSeenAtMs: number;
  #gpuUuids: ReadonlySet<string> = new Set();
  #joined: Promise<void> | undefined;
  #state: 'new' | 'open' | 'closed' = 'new';

  /** `key` is checked with every heartbeat. */
  constructor(stream: SessionStream, key: SessionKey, context: SessionContext) {
    this.id = context.random.id(16);
    this.#context = context;
    this.#stream = stream;
    this.#key = key;
    this.#lastSeenAtMs = context.clock.monotonicMs();
    this.#outbox = new SessionOutbox(stream, context.clock);
    context.table.begin(this);
    this.#heartbeat = new SessionHeartbeat({
      ...context,
      key,
      session: () => ({ machineId: this.#machineId, sessionId: this.id }),
      isOpen: () => this.#state === 'open',
      onExtended: (sequence) => this.#outbox.heartbeat(sequence),
      onLapsed: () => this.#workers?.fence(),
      onSuperseded: () => this.close(OTHER_SESSION, SessionEndReason.SUPERSEDED),
      onUnauthorized: (error) => this.#reject(error),
    });
    const revoker = new PrefetchRevoker({ ...context, outbox: this.#outbox });
    this.#inbox = new SessionInbox({
      ...context,
      outbox: this.#outbox,
      machineId: () => this.#machineId,
      onHealthy: (workerId) => this.healthy(workerId),
      onWaiting: (waiting) => {
        if (this.#canRevoke) context.table.own(revoker.waiting(waiting));
      },
      onPressure: (high) => (high ? stream.pause() : stream.resume()),
    });
  }

  /** The machine of the session; empty before the hello. */
  get machineId(): string {
    return this.#machineId;
  }

  /** The agent's instance id. */
  get instance(): string {
    return this.#instance;
  }

  /** True if its agent prefetches images. */
  get prefetches(): boolean {
    return this.#prefetches;
  }

  /** See AssignmentSink. */
  get holdsLease(): boolean {
    return this.#heartbeat.holdsLease;
  }

  /** True after its hello was accepted, until it ends. */
  get isOpen(): boolean {
    return this.#state === 'open';
  }

  /** True after its end, which may come before its hello was accepted. */
  get hasEnded(): boolean {
    return this.#state === 'closed';
  }

  /** When its last message arrived, in monotonic milliseconds. */
  get lastSeenAtMs(): number {
    return this.#lastSeenAtMs;
  }

  /** Handles a message of the agent. The first must carry a hello. */
  receive(message: SessionRequest): void {
    this.#lastSeenAtMs = this.#context.clock.monotonicMs();
    if (this.#state === 'open') return this.#handle(message);
    if (this.#state === 'closed' || this.#joined) return;
    this.#context.table.greeted(this);
    this.#stream.pause();
    this.#joined = this.#join(message)
      .then(() => {
        if (this.#state === 'open') this.#handle({ ...message, hello: undefined, models: undefined });
        this.#stream.resume();
      })
      .catch((error: unknown) => this.#reject(error));
    this.#context.table.own(this.#joined);
  }

  /**
   * Ends the session normally: sends what waits and the reason, and removes its workers from the pool. The machine's
   * lease runs on.
   */
  close(text: string, reason: SessionEndReason): void {
    if (this.#state === 'closed') return;
    this.#context.logger.info({ machineId: this.#machineId, sessionId: this.id, reason: text }, 'session ended');
    if (reason !== SessionEndReason.UNSPECIFIED) this.#outbox.end({ reason, text });
    this.#outbox.close();
    this.#end();
    this.#stream.end();
  }

  /** Ends the session after its stream broke. */
  gone(): void {
    if (this.#state === 'closed') return;
    this.#context.logger.info({ machineId: this.#machineId, sessionId: this.id }, 'session failed');
    this.#end();
  }

  assign(jobs: readonly ClaimedJob[]): void {
    const assignments = jobs.flatMap((job) => {
      this.#context.reports.used(job.workerId);
      return openAssignment(job, this.#context) ?? [];
    });
    this.#outbox.assign(assignments);
  }

  /** Stops an attempt that may run here. Its slot is free when the agent reports its end. */
  stopAttempt(key: AttemptKey, reason: string): void {
    const { pool } = this.#context;
    const workerId = pool.workerOf({ ...key, machineId: this.#machineId });
    // The reply of its claim may still come. Sent after its stop, the attempt would run on unnoticed.
    if (workerId === undefined) this.#workers?.fenceClaims(key.endpointId);
    this.#outbox.stop(refOf({ ...key, workerId: workerId ?? '' }), reason);
  }

  /** Sends the full set of desired workers and pods, and the images that may be needed. */
  desire(rows: readonly DesiredWorkerRow[], desired: DesiredWorkers): void {
    if (this.#state !== 'open') return;
    this.#outbox.desired(desired);
    this.#workers?.desire(rows);
  }

  /** Requests a worker's log. The reply arrives at `onLogReply`. */
  requestLog(request: WorkerLogRequest): void {
    this.#outbox.requestLog(request);
  }

  /** Records that a worker finished an attempt with a result. */
  healthy(workerId: string): void {
    this.#workers?.healthy(workerId);
  }

  /** Returns the workers that the session reported. */
  workerIds(): string[] {
    return this.#workers?.ids() ?? [];
  }

  async #join({ hello, models: reported }: SessionRequest): Promise<void> {
    const { table, workers, running, pods, containers, models, attempts, desired, clock, logger } = this.#context;
    const helloAtMs = clock.monotonicMs();
    const machine = machineFromMessage(hello?.machine);
    await this.#key.bind(machine.id);
    if (this.hasEnded) return;
    this.#machineId = machine.id;
    this.#gpuUuids = new Set(machine.gpus.map(({ uuid }) => uuid));
    this.#instance = instanceOf(hello!);
    this.#prefetches = hello!.prefetches;
    this.#canRevoke = hello!.recalls;
    await enterMachine(this, hello!.replaces, machine, this.#context);
    // Its end did not find the row that the hello has written since.
    if (this.hasEnded) return leaveMachine(this, this.#context);
    const held = heldFromRefs(hello!.attempts, machine.id);
    const current = await running.ofMachine(machine.id);
    const own = await workers.endpointsOf(
      machine.id,
      [...hello!.workers, ...held].map(({ workerId }) => workerId),
    );
    // Their rows may be deleted already.
    for (const { workerId, endpointId } of current) own.set(workerId, endpointId);
    const lost = missingFrom(held, current, clock.monotonicMs() - helloAtMs);
    // Only while this session still owns the machine: a newer one may hold attempts that this hello cannot know.
    if (!(await this.#heartbeat.extendLease())) return this.close(OTHER_SESSION, SessionEndReason.SUPERSEDED);
    const ended = { kind: 'LOST', output: undefined, error: 'its agent came back without it' } as const;
    await Promise.all(
      lost.map(({ endpointId, jobId, attempt, machineId }) =>
        attempts.recordOutcome({ endpointId, jobId, attempt, machineId, ...ended }),
      ),
    );
    await workers.endUnlisted(
      { machineId: machine.id, sessionId: this.id },
      hello!.workers.map((report) => report.workerId).filter((id) => own.has(id)),
    );
    await pods.begin({ machineId: machine.id, sessionId: this.id }, hello!.pods);
    await containers.begin({ machineId: machine.id, sessionId: this.id }, hello!);
    await models.begin({ machineId: machine.id, sessionId: this.id }, reported);
    if (this.#state === 'closed' || table.closed)
      return this.close('core is shutting down', SessionEndReason.SHUTTING_DOWN);
    this.#open(hello!, held, own, new Set(current.map(attemptId)));
    logger.info({ machineId: machine.id, sessionId: this.id, held: held.length, lost: lost.length }, 'session opened');
    this.#context.onCapacity(machine.id);
    // Not awaited: heartbeats are read from now on, and must not wait for database connections.
    table.own(
      desired
        .push([this])
        .catch((error: unknown) =>
          logger.warn({ err: error, machineId: machine.id }, 'desired workers were not sent, will retry'),
        ),
    );
  }

  #open(
    hello: Hello,
    held: readonly HeldAttempt[],
    own: ReadonlyMap<string, string>,
    current: ReadonlySet<string>,
  ): void {
    this.#state = 'open';
    this.#workers = new SessionWorkers(this, own, { ...this.#context, machineId: this.#machineId, sessionId: this.id });
    const modelPeerKey = this.#context.modelPeers.keyOf(this.#machineId);
    this.#outbox.welcome({ sessionId: this.id, ...WELCOME_TIMES, modelPeerKey });
    this.#workers.begin(hello.workers, held);
    for (const attempt of held) {
      if (!current.has(attemptId(attempt)))
        this.stopAttempt(attempt, 'another attempt took its place, or its job is final');
    }
  }

  #handle(message: SessionRequest): void {
    if (message.heartbeat) this.#heartbeat.extend(message.heartbeat.sequence);
    this.#workers?.report(message.workers);
    this.#inbox.chunks(message.chunks);
    this.#inbox.progress(message.progress);
    this.#inbox.outcomes(message.outcomes);
    if (message.waiting.length > 0) this.#inbox.waiting(message.waiting);
    const session = { machineId: this.#machineId, sessionId: this.id };
    this.#context.pods.changed(session, message.pods);
    if (message.gpuLoads) this.#heartbeat.loads(loadsFromMessage(message.gpuLoads, this.#gpuUuids));
    for (const reply of message.logReplies) this.#context.onLogReply(this.#machineId, reply);
    reportMachine(this.#context, session, message);
    if (message.models) this.#context.models.changed(session, message.models);
    try {
      if (message.containers) this.#context.containers.changed(session, message.containers);
    } catch (error) {
      this.#reject(error);
    }
  }

  #reject(error: unknown): void {
    if (this.#state === 'closed') return;
    this.#context.logger.warn({ err: error, machineId: this.#machineId }, 'session rejected');
    this.#end();
    this.#stream.end(error);
  }

  #end(): void {
    const opened = this.#machineId !== '';
    this.#state = 'closed';
    this.#context.table.greeted(this);
    this.#outbox.drop();
    this.#inbox.close();
    this.#workers?.end();
    if (opened && this.#context.table.leave(this)) leaveMachine(this, this.#context);
  }
}
