/**
 * What waits to be sent on one session. Everything of one turn leaves in one message of about 1 MiB at most; while the stream pushes back
 * nothing is written. Heartbeats go first, so that a slow stream does not cost the lease. What may wait is bounded by what the agent can
 * hold: capacity bounds assignments, its own sending bounds the acknowledgements.
 */
import { SessionResponse } from '../../proto/gen/slipway/v1/agent_service.ts';
import type { Assignment, AttemptRef, DesiredPod, DesiredWorker } from '../../proto/gen/slipway/v1/agent_service.ts';
import { BATCH_MESSAGE_BYTES } from '../../proto/wire/limits.ts';
import type { MachineAttempt } from '../domain/job.ts';
import { attemptId } from './slot-pool.ts';
import type { Clock } from '../runtime/clock.ts';

/** Bytes of a message that are not the input. A guess is enough: the limit is soft. */
const ASSIGNMENT_BYTES = 300;
const ACK_BYTES = 80;

/** The sending side of a stream. */
export interface OutgoingStream {
  /** False: wait for `onDrain` before the next message. */
  write(message: SessionResponse): boolean;
  /** Calls once, when messages may be written again. */
  onDrain(listener: () => void): void;
}

export class SessionOutbox {
  readonly #stream: OutgoingStream;
  readonly #clock: Clock;
  #first: Partial<SessionResponse> = {};
  #assignments: Assignment[] = [];
  #stops: SessionResponse['stops'] = [];
  #outcomeAcks: AttemptRef[] = [];
  readonly #chunkAcks = new Map<string, { ref: AttemptRef; number: number }>();
  #logRequests: SessionResponse['logRequests'] = [];
  #scheduled = false;
  #blocked = false;
  #closed = false;

  constructor(stream: OutgoingStream, clock: Clock) {
    this.#clock = clock;
    this.#stream = stream;
  }

  /** The answer to the hello. */
  welcome(welcome: NonNullable<SessionResponse['welcome']>): void {
    this.#first.welcome = welcome;
    this.#schedule();
  }

  /** The last that is said; `close` sends it. */
  end(end: NonNullable<SessionResponse['end']>): void {
    this.#first.end = end;
  }

  /** Answers a heartbeat; of several only the latest leaves. */
  heartbeat(sequence: number): void {
    this.#first.heartbeat = { sequence };
    this.#schedule();
  }

  /** The full set of workers and pods; of several only the latest leaves. */
  desired(workers: DesiredWorker[], pods: DesiredPod[]): void {
    this.#first.desired = { workers, pods };
    this.#schedule();
  }

  /** Attempts to run. */
  assign(assignments: readonly Assignment[]): void {
    for (const assignment of assignments) this.#assignments.push(assignment);
    this.#schedule();
  }

  /** An attempt to end. */
  stop(ref: AttemptRef, reason: string): void {
    this.#stops.push({ ref, reason });
    this.#schedule();
  }

  /** An outcome that is committed or no longer matters. */
  ackOutcome(ref: AttemptRef): void {
    this.#outcomeAcks.push(ref);
    this.#schedule();
  }

  /** Chunks up to this number are committed. */
  ackChunk(key: MachineAttempt, ref: AttemptRef, number: number): void {
    const id = attemptId(key);
    const before = this.#chunkAcks.get(id);
    if (!before || before.number < number) this.#chunkAcks.set(id, { ref, number });
    this.#schedule();
  }

  /** A log to read. */
  requestLog(request: SessionResponse['logRequests'][number]): void {
    this.#logRequests.push(request);
    this.#schedule();
  }

  /** Sends what waits, now, and nothing after it. */
  close(): void {
    while (!this.#closed && !this.#blocked && !this.#isEmpty()) this.#write();
    this.#closed = true;
  }

  #schedule(): void {
    if (this.#scheduled || this.#blocked || this.#closed) return;
    this.#scheduled = true;
    this.#clock.soon(() => {
      this.#scheduled = false;
      while (!this.#closed && !this.#blocked && !this.#isEmpty()) this.#write();
    });
  }

  #isEmpty(): boolean {
    return this.#assignments.length + this.#stops.length + this.#outcomeAcks.length + this.#chunkAcks.size + this.#logRequests.length === 0
      && Object.keys(this.#first).length === 0;
  }

  #write(): void {
    const room = Math.floor(BATCH_MESSAGE_BYTES / ACK_BYTES);
    const message: SessionResponse = {
      welcome: undefined, heartbeat: undefined, desired: undefined, end: undefined, ...this.#first,
      assignments: this.#takeAssignments(),
      stops: this.#stops.splice(0, room),
      outcomeAcks: this.#outcomeAcks.splice(0, room),
      chunkAcks: [...this.#chunkAcks.values()],
      logRequests: this.#logRequests.splice(0, room),
    };
    this.#first = {};
    this.#chunkAcks.clear();
    if (this.#stream.write(message)) return;
    this.#blocked = true;
    this.#stream.onDrain(() => {
      this.#blocked = false;
      this.#schedule();
    });
  }

  #takeAssignments(): Assignment[] {
    let bytes = 0;
    let count = 0;
    for (; count < this.#assignments.length; count += 1) {
      bytes += ASSIGNMENT_BYTES + (this.#assignments[count]!.input?.length ?? 0);
      if (bytes > BATCH_MESSAGE_BYTES && count > 0) break;
    }
    return this.#assignments.splice(0, count);
  }
}
