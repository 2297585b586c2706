/** Reads what a worker or pod wrote from its agent, over the session if this replica holds it. */
import type { WorkerLogReply } from '../../proto/gen/slipway/v1/agent_service.ts';
import { DomainError } from '../domain/errors.ts';
import type { Clock, Timer } from '../runtime/clock.ts';
import type { SessionTable } from './session-table.ts';

/** How long an agent may take to answer, in milliseconds. */
const ANSWER_MS_MAX = 10_000;
/** Most requests in flight; a log is up to 1 MiB. */
const REQUESTS_MAX = 64;

interface Waiting {
  resolve(log: Buffer): void;
  reject(error: unknown): void;
  timer: Timer;
  machineId: string;
}

/** See the file's first line. */
export class WorkerLogs {
  readonly #table: SessionTable;
  readonly #clock: Clock;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;

  constructor(table: SessionTable, clock: Clock) {
    this.#table = table;
    this.#clock = clock;
  }

  /** Whether this replica holds the machine's session. */
  reaches(machineId: string): boolean {
    return this.#table.get(machineId)?.isOpen ?? false;
  }

  /** The end of a worker's log, at most `tailBytes`. NOT_FOUND: its agent knows no such worker. UNAVAILABLE: the agent does not answer. */
  read(machineId: string, workerId: string, tailBytes: number): Promise<Buffer> {
    const session = this.#table.get(machineId);
    if (!session?.isOpen) return Promise.reject(new DomainError('UNAVAILABLE', 'The machine that keeps the log is not connected.'));
    if (this.#waiting.size >= REQUESTS_MAX) {
      return Promise.reject(new DomainError('RATE_LIMITED', 'Too many logs are being read; try again shortly.'));
    }
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      const timer = this.#clock.after(ANSWER_MS_MAX, () => {
        this.#waiting.delete(id);
        reject(new DomainError('UNAVAILABLE', 'The machine that keeps the log did not answer in time.'));
      });
      this.#waiting.set(id, { resolve, reject, timer, machineId });
      session.requestLog(id, workerId, tailBytes);
    });
  }

  /** An agent's answer. Unknown ones are ignored. */
  answer({ requestId, log, found }: WorkerLogReply): void {
    const waiting = this.#waiting.get(requestId);
    if (!waiting) return;
    this.#waiting.delete(requestId);
    waiting.timer.cancel();
    if (found) waiting.resolve(log);
    else waiting.reject(new DomainError('NOT_FOUND', 'The machine keeps no log of it, or not any more.'));
  }
}
