/**
 * Messages waiting to be sent on one session. Levels (heartbeat replies, desired workers and pods) go first, only the
 * latest of each, so that a slow stream does not cost the lease. Then acknowledgements, then assignments, and last
 * the stops, which must not overtake the assignments that they end. The queue is bounded by what the agent can hold:
 * capacity bounds assignments, its own sending bounds acknowledgements.
 */

import { BatchQueue, MessageBudget } from '@slipway/kit/net/batch-queue';
import type { MessageSink } from '@slipway/kit/net/batching-stream';
import { BatchingStream } from '@slipway/kit/net/batching-stream';
import type { Clock } from '@slipway/kit/time/clock';
import type {
  Assignment,
  AttemptRef,
  DesiredWorkers,
  SessionResponse,
} from '@slipway/proto/gen/slipway/v1/agent_service';
import type { MachineAttempt } from '../domain/jobs/job.ts';
import { attemptId } from './slot-pool.ts';

/** Bytes of a message that are not the input. A guess is enough: the limit is soft. */
const ASSIGNMENT_BYTES = 300;
const REF_BYTES = 80;

export class SessionOutbox {
  readonly #sending: BatchingStream<SessionResponse>;
  #first: Partial<SessionResponse> = {};
  readonly #assignments = new BatchQueue<Assignment>();
  readonly #stops = new BatchQueue<SessionResponse['stops'][number]>();
  readonly #outcomeAcks = new BatchQueue<AttemptRef>();
  readonly #chunkAcks = new Map<string, { ref: AttemptRef; number: number }>();
  /** Revocations by worker, so that repeated ones take no more memory. */
  readonly #revocations = new Map<string, AttemptRef>();
  readonly #logRequests = new BatchQueue<SessionResponse['logRequests'][number]>();

  constructor(sink: MessageSink<SessionResponse>, clock: Clock) {
    this.#sending = new BatchingStream({ sink, clock, take: () => this.#take() });
  }

  /** Sends the reply to the hello. */
  welcome(welcome: NonNullable<SessionResponse['welcome']>): void {
    this.#first.welcome = welcome;
    this.#sending.wake();
  }

  /** Sets the last message; `close` sends it. */
  end(end: NonNullable<SessionResponse['end']>): void {
    this.#first.end = end;
  }

  /** Acknowledges a heartbeat; only the latest is sent. */
  heartbeat(sequence: number): void {
    this.#first.heartbeat = { sequence };
    this.#sending.wake();
  }

  /** Sends the full set of workers and pods; only the latest is sent. */
  desired(desired: DesiredWorkers): void {
    this.#first.desired = desired;
    this.#sending.wake();
  }

  /** Sends attempts to run. */
  assign(assignments: readonly Assignment[]): void {
    for (const assignment of assignments)
      this.#assignments.add(assignment, ASSIGNMENT_BYTES + (assignment.input?.length ?? 0));
    this.#sending.wake();
  }

  /** Sends an attempt to stop. */
  stop(ref: AttemptRef, reason: string): void {
    this.#stops.add({ ref, reason }, REF_BYTES + reason.length);
    this.#sending.wake();
  }

  /** Revokes a worker's prefetched attempts, of which `ref` is one. */
  revoke(ref: AttemptRef): void {
    this.#revocations.set(ref.workerId, ref);
    this.#sending.wake();
  }

  /** Acknowledges an outcome that is committed or no longer matters. */
  ackOutcome(ref: AttemptRef): void {
    this.#outcomeAcks.add(ref, REF_BYTES);
    this.#sending.wake();
  }

  /** Acknowledges the chunks up to this number. */
  ackChunk(key: MachineAttempt, ref: AttemptRef, number: number): void {
    const id = attemptId(key);
    const before = this.#chunkAcks.get(id);
    if (!before || before.number < number) this.#chunkAcks.set(id, { ref, number });
    this.#sending.wake();
  }

  /** Requests a log. */
  requestLog(request: SessionResponse['logRequests'][number]): void {
    this.#logRequests.add(request, REF_BYTES);
    this.#sending.wake();
  }

  /** Sends the waiting messages now, and nothing after them. */
  close(): void {
    this.#sending.close();
  }

  /** Drops all messages, because the stream has ended. */
  drop(): void {
    this.#sending.stop();
  }

  #isEmpty(): boolean {
    return (
      this.#assignments.length +
        this.#stops.length +
        this.#outcomeAcks.length +
        this.#chunkAcks.size +
        this.#logRequests.length +
        this.#revocations.size ===
        0 && Object.keys(this.#first).length === 0
    );
  }

  #take(): SessionResponse | undefined {
    if (this.#isEmpty()) return undefined;
    const budget = new MessageBudget();
    const message: SessionResponse = {
      welcome: undefined,
      heartbeat: undefined,
      desired: undefined,
      end: undefined,
      ...this.#first,
      chunkAcks: [...this.#chunkAcks.values()],
      outcomeAcks: this.#outcomeAcks.take(budget),
      logRequests: this.#logRequests.take(budget),
      assignments: this.#assignments.take(budget),
      stops: [],
      recalls: [...this.#revocations.values()],
    };
    if (this.#assignments.length === 0) message.stops = this.#stops.take(budget);
    this.#first = {};
    this.#chunkAcks.clear();
    this.#revocations.clear();
    return message;
  }
}
